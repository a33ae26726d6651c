import CountersignEncoding
import CountersignTelemetry

/// Client of RabbitMQ's management API, as far as the operator's commands need it
/// (https://rawcdn.githack.com/rabbitmq/rabbitmq-server/v3.10.8/deps/rabbitmq_management/priv/www/api/index.html).
struct ManagementAPI: Sendable {
  let transport: any ManagementTransport
  let virtualHost: String

  var encodedHost: String { PercentEncoding.encode(virtualHost) }

  func list<Row: Decodable>(_ resource: String) async throws(CommandLineError) -> [Row] {
    try await get("/api/\(resource)/\(encodedHost)")
  }

  func get<Value: Decodable>(_ path: String) async throws(CommandLineError) -> Value {
    try await read(path) { try JSONReader.commandLine.decode(Value.self, from: $0) }
  }

  func rows(_ path: String) async throws(CommandLineError) -> [[String: JSONValue]] {
    try await read(path) { body in
      guard case .array(let rows) = try JSONReader.commandLine.value(of: body) else { return nil }
      let objects = rows.compactMap(\.members)
      return objects.count == rows.count ? objects : nil
    }
  }

  private func read<Value>(
    _ path: String, _ parse: ([UInt8]) throws -> Value?
  ) async throws(CommandLineError) -> Value {
    let response = try await transport.send("GET", path, body: nil)
    try check(response, doing: "read \(path)")
    if let value = try? parse(response.body) { return value }
    throw CommandLineError(
      .internalError, "the management API's answer to \(path) has an unexpected form: is it RabbitMQ 3.10 or later?")
  }

  func write(_ write: ManagementWrite) async throws(CommandLineError) {
    var path = write.path
    // Users belong to all virtual hosts.
    if !["users", "user-limits"].contains(path[0]) { path.insert(virtualHost, at: 1) }
    let response = try await transport.send(
      write.method, "/api/" + path.map(PercentEncoding.encode).joined(separator: "/"),
      body: Array(JSONValue.object(write.body).json().utf8))
    let deed = write.method == "DELETE" ? "delete" : "declare"
    try check(response, doing: "\(deed) \(path.joined(separator: " "))")
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

struct ManagementWrite: Sendable, Hashable {
  /// Without the virtual host.
  let path: [String]
  let body: [String: JSONValue]
  let method: String

  init(_ path: [String], _ body: [String: JSONValue], method: String = "PUT") {
    self.path = path
    self.body = body
    self.method = method
  }
}
