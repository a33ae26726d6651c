internal import CountersignEncoding
internal import CountersignTelemetry
internal import FoundationEssentials

/// The management API of RabbitMQ, as far as the operator's commands need it
/// (https://rawcdn.githack.com/rabbitmq/rabbitmq-server/v3.10.8/deps/rabbitmq_management/priv/www/api/index.html).
struct ManagementAPI: Sendable {
  let transport: any ManagementTransport
  /// The virtual host that all paths are about.
  let virtualHost: String

  /// Reads a resource of the virtual host.
  /// - Parameter resource: `queues`, `bindings`, …; the virtual host is put behind it.
  func list<Row: Decodable>(_ resource: String, query: String = "") async throws(OperationsError) -> [Row] {
    try await get("/api/\(resource)/\(PercentEncoding.encode(virtualHost))\(query)")
  }

  /// Reads a resource that is found below its virtual host: `permissions`, `topic-permissions`.
  func listOfVirtualHost<Row: Decodable>(_ resource: String) async throws(OperationsError) -> [Row] {
    try await get("/api/vhosts/\(PercentEncoding.encode(virtualHost))/\(resource)")
  }

  /// Reads a resource by its path.
  func get<Value: Decodable>(_ path: String) async throws(OperationsError) -> Value {
    let response = try await transport.send("GET", path, body: nil)
    try check(response, doing: "read \(path)")
    do {
      return try JSONReader.operations.decode(Value.self, from: response.body)
    } catch {
      throw OperationsError(
        .internalError,
        "the management API answered \(path) with something else than expected: is it RabbitMQ 3.10 or later?")
    }
  }

  /// Makes or changes a resource of the virtual host.
  /// - Parameter components: the path behind `/api/`; the virtual host is put behind the first.
  func write(
    _ method: String, _ components: [String], _ body: some Encodable
  ) async throws(OperationsError) {
    var path = components
    path.insert(virtualHost, at: 1)
    try await write(method, path: path, body)
  }

  /// Makes or changes a resource of the whole broker.
  /// - Parameter components: the path behind `/api/`.
  func write(
    _ method: String, path components: [String], _ body: some Encodable
  ) async throws(OperationsError) {
    let json: Data
    do {
      json = try JSONEncoder().encode(body)
    } catch {
      throw OperationsError(.internalError, "a declaration cannot be written as JSON")
    }
    let path = components.map(PercentEncoding.encode).joined(separator: "/")
    let response = try await transport.send(method, "/api/" + path, body: Array(json))
    try check(response, doing: "declare \(components.joined(separator: " "))")
  }

  /// Removes a resource of the virtual host.
  /// - Parameter components: the path behind `/api/`; the virtual host is put behind the first.
  func delete(_ components: [String]) async throws(OperationsError) {
    var path = components
    path.insert(virtualHost, at: 1)
    let response = try await transport.send(
      "DELETE", "/api/" + path.map(PercentEncoding.encode).joined(separator: "/"), body: nil)
    try check(response, doing: "delete \(path.joined(separator: " "))")
  }

  private func check(_ response: ManagementResponse, doing what: String) throws(OperationsError) {
    switch response.status {
    case 200...299: return
    case 401:
      throw OperationsError(
        .notPermitted,
        "the broker does not let this user \(what): check its password, and that it has the tags monitoring and policymaker"
      )
    case 403: throw OperationsError(.notPermitted, "the broker does not let this user \(what)\(reason(response))")
    case 404:
      throw OperationsError(
        .refused,
        "cannot \(what): there is no such thing; does the virtual host \(virtualHost) exist? (rabbitmqctl add_vhost)")
    case 400: throw OperationsError(.refused, "cannot \(what)\(reason(response))")
    default: throw OperationsError(.unavailable, "cannot \(what): the management API answered \(response.status)")
    }
  }

  private struct Problem: Decodable {
    let reason: String
  }

  private func reason(_ response: ManagementResponse) -> String {
    // An answer without a reason is told without one.
    guard let problem = try? JSONReader.operations.decode(Problem.self, from: response.body) else { return "" }
    return ": \(problem.reason.cut(toBytes: 300))"
  }
}
