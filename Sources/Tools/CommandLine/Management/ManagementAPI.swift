import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials

/// Client of RabbitMQ's management API, as far as the operator's commands need it
/// (https://rawcdn.githack.com/rabbitmq/rabbitmq-server/v3.10.8/deps/rabbitmq_management/priv/www/api/index.html).
struct ManagementAPI: Sendable {
  let transport: any ManagementTransport
  let virtualHost: String

  /// Reads a resource of the virtual host.
  func list<Row: Decodable>(_ resource: String, query: String = "") async throws(CommandLineError) -> [Row] {
    try await get("/api/\(resource)/\(PercentEncoding.encode(virtualHost))\(query)")
  }

  /// Reads a resource whose path follows the virtual host: `permissions`, `topic-permissions`.
  func listOfVirtualHost<Row: Decodable>(_ resource: String) async throws(CommandLineError) -> [Row] {
    try await get("/api/vhosts/\(PercentEncoding.encode(virtualHost))/\(resource)")
  }

  /// Reads a resource by its path.
  func get<Value: Decodable>(_ path: String) async throws(CommandLineError) -> Value {
    let response = try await transport.send("GET", path, body: nil)
    try check(response, doing: "read \(path)")
    do {
      return try JSONReader.commandLine.decode(Value.self, from: response.body)
    } catch {
      throw CommandLineError(
        .internalError,
        "the management API's answer to \(path) has an unexpected form: is it RabbitMQ 3.10 or later?")
    }
  }

  /// Creates or changes a resource of the virtual host.
  func write(
    _ method: String, _ components: [String], _ body: some Encodable
  ) async throws(CommandLineError) {
    var path = components
    path.insert(virtualHost, at: 1)
    try await write(method, path: path, body)
  }

  /// Creates or changes a resource of the whole broker.
  func write(
    _ method: String, path components: [String], _ body: some Encodable
  ) async throws(CommandLineError) {
    let json: Data
    do {
      json = try JSONEncoder().encode(body)
    } catch {
      throw CommandLineError(.internalError, "a declaration cannot be written as JSON")
    }
    let path = components.map(PercentEncoding.encode).joined(separator: "/")
    let response = try await transport.send(method, "/api/" + path, body: Array(json))
    try check(response, doing: "declare \(components.joined(separator: " "))")
  }

  /// Removes a resource of the virtual host.
  func delete(_ components: [String]) async throws(CommandLineError) {
    var path = components
    path.insert(virtualHost, at: 1)
    let response = try await transport.send(
      "DELETE", "/api/" + path.map(PercentEncoding.encode).joined(separator: "/"), body: nil)
    try check(response, doing: "delete \(path.joined(separator: " "))")
  }

  private func check(_ response: ManagementResponse, doing what: String) throws(CommandLineError) {
    switch response.status {
    case 200...299: return
    case 401:
      throw CommandLineError(
        .notPermitted,
        "the broker does not let this user \(what): check its password, and that it has the tags monitoring and policymaker"
      )
    case 403: throw CommandLineError(.notPermitted, "the broker does not let this user \(what)\(reason(response))")
    case 404:
      throw CommandLineError(
        .refused,
        "cannot \(what): not found; does the virtual host \(virtualHost) exist? (rabbitmqctl add_vhost)")
    case 400: throw CommandLineError(.refused, "cannot \(what)\(reason(response))")
    default: throw CommandLineError(.unavailable, "cannot \(what): the management API answered \(response.status)")
    }
  }

  private struct Problem: Decodable {
    let reason: String
  }

  private func reason(_ response: ManagementResponse) -> String {
    // An answer may have no reason.
    guard let problem = try? JSONReader.commandLine.decode(Problem.self, from: response.body) else { return "" }
    return ": \(problem.reason.cut(toBytes: 300))"
  }
}
