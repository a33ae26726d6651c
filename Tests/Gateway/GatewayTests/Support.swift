import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import HTTPServer
import Projects
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// Services behind the broker, as tests script them. Holds messages to the limits of the real ones: envelope and body of
/// the contract, a fresh ID each, the sender's name and time, the exchange of commands.
final class FakeBroker: CommandTransport {
  typealias Script = @Sendable (_ type: String, _ message: Message) throws -> Message

  struct Violation: Error, CustomStringConvertible {
    let description: String
  }

  private struct State {
    var isReady = true
    var looksUntilReady = 0
    var commands: [Message] = []
    var ids: Set<String> = []
    var violations: [String] = []
    var failure: AMQPError?
    var delay: Duration = .zero
  }

  private let state = Mutex(State())
  private let script: Script

  init(_ script: @escaping Script = { _, _ in throw Violation(description: "no command was expected") }) {
    self.script = script
  }

  var isReady: Bool {
    state.withLock { state in
      if state.looksUntilReady > 0 {
        state.looksUntilReady -= 1
        if state.looksUntilReady == 0 { state.isReady = true }
      }
      return state.isReady
    }
  }
  var commands: [Message] { state.withLock { $0.commands } }
  var violations: [String] { state.withLock { $0.violations } }

  func setReady(_ isReady: Bool) { state.withLock { $0.isReady = isReady } }
  func becomeReady(atLook number: Int) { state.withLock { $0.looksUntilReady = number } }
  func fail(_ error: AMQPError?) { state.withLock { $0.failure = error } }
  func delay(_ delay: Duration) { state.withLock { $0.delay = delay } }

  func command<C: Command>(_ type: C.Type, at index: Int = 0) throws -> C {
    let matching = commands.filter { $0.type == C.type.text }
    return try C(json: try #require(matching.dropFirst(index).first).body)
  }

  func request(
    _ message: Message, exchange: String, routingKey: String, timeout: Duration
  ) async throws(AMQPError) -> Message {
    let (failure, delay) = state.withLock { ($0.failure, $0.delay) }
    do {
      let envelope = try Envelope(message)
      check(envelope, exchange, routingKey)
      state.withLock { $0.commands.append(message) }
      if delay > .zero { try await Task.sleep(for: min(delay, timeout)) }
      if delay > timeout { throw AMQPError(.timedOut, "no reply") }
      if let failure { throw failure }
      return try script(envelope.type.name, message)
    } catch let error as AMQPError {
      throw error
    } catch is CancellationError {
      throw AMQPError(.canceled, "canceled")
    } catch {
      state.withLock { $0.violations.append("\(error)") }
      throw AMQPError(.protocolViolation, "\(error)")
    }
  }

  private func check(_ envelope: Envelope, _ exchange: String, _ routingKey: String) {
    state.withLock { state in
      if !state.ids.insert(envelope.messageID).inserted { state.violations.append("a message ID was used again") }
      if exchange != Topology.Exchanges.commands { state.violations.append("exchange \(exchange)") }
      if routingKey != envelope.type.name { state.violations.append("routing key \(routingKey)") }
      if envelope.timestamp == nil || envelope.appID != "gateway" || envelope.userID != "gateway" {
        state.violations.append("timestamp, app_id or user_id is missing")
      }
    }
  }

  static func reply<Body: MessageBody>(_ body: Body, to message: Message) throws -> Message {
    Envelope(type: Body.type, messageID: MessageID.make(), correlationID: message.correlationID)
      .message(body: try body.json())
  }

  static func refusal(_ error: APIError, to message: Message) throws -> Message {
    try reply(ErrorReply(error), to: message)
  }
}

final class GatewayBench: Sendable {
  let broker: FakeBroker
  let rules: GatewayRules
  let metrics: MetricsRegistry
  let log = MemoryLog()
  let accountsKey: PrivateSealingKey
  private let server: HTTPServer
  private let client: HTTPClient

  static let apiKey = "fake-api-key"
  static let bundleID = "com.example.app"
  static let origin = "https://www.example.com"

  static var project: Project {
    var project = Project(id: "example", number: 100_000_000_001)
    project.apiKeys = [apiKey]
    project.authDomain = "example.firebaseapp.com"
    project.authorizedDomains = ["localhost"]
    project.methods = [.phone, .anonymous]
    project.apps = [
      ProjectApp(id: bundleID, platform: .ios, appID: "1:100000000001:ios:0123456789abcdef"),
      ProjectApp(
        id: "example-web", platform: .web, appID: "1:100000000001:web:0123456789abcdef", origins: [origin]),
      ProjectApp(
        id: "second-web", platform: .web, appID: "1:100000000001:web:fedcba9876543210",
        origins: ["https://second.example.com"]),
      ProjectApp(id: "com.example.android", platform: .android, appID: "1:100000000001:android:0123456789abcdef"),
    ]
    return project
  }

  init(
    _ broker: FakeBroker = FakeBroker(), project: Project = GatewayBench.project, isDevelopment: Bool = false,
    simulatorURL: String? = nil, proxies: [String] = [], maxInFlight: Int = 64,
    answerTime: Duration = CallLimits.answerTime, routes: (GatewayRules, Broker) -> [Route]
  ) throws {
    let key = try PrivateSealingKey.generate(id: "accounts-1")
    let keys = try PublicSealingKeys(jwkSet: Array(PrivateSealingKeys([key]).publicSet.utf8))
    let rules = try GatewayRules(
      projects: ProjectsSource(Projects([project])), isDevelopment: isDevelopment, sealingKeys: keys,
      simulatorURL: simulatorURL)
    let registry = MetricsRegistry()
    let metrics = GatewayMetrics(registry)
    let logger = Logger(label: "gateway", level: .trace, sink: log)
    let connection = Broker(
      transport: broker, author: Author(appID: "gateway", userID: "gateway"), clocks: .system, metrics: metrics,
      logger: logger)
    let endpoint = GatewayEndpoint(
      routes(rules, connection), rules, proxies: TrustedProxies(ranges: proxies.compactMap { AddressRange($0) }),
      maxInFlight: maxInFlight, answerTime: answerTime, clock: SystemMonotonicClock(), metrics: metrics,
      logger: logger)
    var limits = HTTPServerLimits(connections: 256, connectionMemoryBytes: CallLimits.maxHeaderBytes)
    limits.longBodies = HTTPServerLimits.LongBodies(
      atOnce: CallLimits.maxLongBodiesAtOnce, maxBytes: { endpoint.maxBodyBytes(of: $0) })
    server = try HTTPServer(
      host: "127.0.0.1", port: 0, maxBodyBytes: CallLimits.maxBodyBytes,
      limits: limits,
      refusal: { endpoint.refusal($0, $1) }, handler: { .respond(await endpoint.answer($0)) })
    client = try HTTPClient()
    (self.broker, self.rules, self.metrics, accountsKey) = (broker, rules, registry, key)
  }

  deinit {
    let (server, client) = (server, client)
    Task {
      await client.shutdown()
      await server.stop(grace: .milliseconds(1))
    }
  }

  var port: UInt16 { server.port }
  var url: String { "http://127.0.0.1:\(server.port)" }

  func send(
    _ method: String, _ target: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil
  ) async throws -> BenchAnswer {
    let response = try await client.send(
      HTTPRequest(
        method: method, url: url + target, headers: HTTPHeaders(headers), body: body,
        timeouts: .patient))
    return try BenchAnswer(response)
  }

  func post(
    _ path: String, _ json: String, key: String? = GatewayBench.apiKey,
    headers: [(name: String, value: String)] = []
  ) async throws -> BenchAnswer {
    try await send(
      "POST", path + (key.map { "?key=\($0)" } ?? ""),
      headers: [("Content-Type", "application/json")] + headers, body: Array(json.utf8))
  }
}

struct BenchAnswer: Sendable {
  let status: Int
  let headers: HTTPHeaders
  let text: String
  private let content: JSONValue

  init(_ response: HTTPResponse) throws {
    status = response.status
    headers = response.headers
    text = String(decoding: response.body, as: UTF8.self)
    content = response.body.isEmpty ? .object([:]) : try JSONValue(parsing: response.body)
  }

  var names: Set<String> { content.names }
  subscript(name: String) -> JSONValue? { content[name] }
  var message: String? { content["error"]?["message"]?.text }
  var word: String? { content["error"]?["status"]?.text }
  var reason: String? { content["error"]?["errors"]?[0]?["reason"]?.text }

  func isError(_ code: Int) -> Bool {
    status == code && content["error"]?["code"] == .integer(Int64(code)) && message?.isEmpty == false
      && content["error"]?["errors"]?[0]?["message"]?.text == message
      && content["error"]?["errors"]?[0]?["domain"]?.text == "global" && reason?.isEmpty == false
  }
}

final class MemoryLog: LogSink {
  private let lines = Mutex<[String]>([])

  func write(_ event: LogEvent) { lines.withLock { $0.append("\(event)") } }

  var text: String { lines.withLock { $0.joined(separator: "\n") } }
}
