import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPServer
import Projects
import ServiceRuntime
import TestSupport
import Testing

@testable import Gateway

struct CallFixture: Sendable {
  static let now = UnixTime(seconds: 1_782_907_200)
  static let v1 = "/identitytoolkit.googleapis.com/v1/"
  static let v2 = "/identitytoolkit.googleapis.com/v2/"
  static let v3 = "/www.googleapis.com/identitytoolkit/v3/relyingparty/"

  let services: FakeServices
  let clocks = ManualClocks(CallFixture.now)
  let sink = MemorySink()
  let metrics = MetricsRegistry()
  let calls: GatewayCalls
  let project: Project

  init(
    recaptcha: Project.Recaptcha? = nil, isDevelopment: Bool = false, messages: (any SentMessages)? = nil,
    otherKey: Bool = false, sealer: Sealer? = nil, methods: Set<Project.Method> = [.phone, .anonymous],
    emulatorTokens: Bool = false,
    onPause: @escaping @Sendable () -> Void = {}
  ) throws {
    services = try FakeServices()
    var project = Project(id: "example", number: 100_000_000_001)
    project.apiKeys = ["fake-api-key"]
    project.authDomain = "example.firebaseapp.com"
    project.authorizedDomains = ["localhost"]
    project.apps = [ProjectApp(id: "com.example.push", platform: .ios, appID: "1:100000000001:ios:aa")]
    project.recaptcha = recaptcha
    project.methods = methods
    project.emulatorTokens = emulatorTokens
    self.project = project
    let rules = try GatewayRules(
      projects: ProjectsSource(Projects([project])), isDevelopment: isDevelopment,
      sealingKeys: try otherKey ? FakeServices().publicKeys : services.publicKeys, sealer: sealer)
    let logger = Logger(label: "gateway", level: .trace, sink: sink, clock: clocks.wall)
    let broker = Broker(
      transport: services, author: Author(appID: "gateway", userID: "gateway"), clocks: clocks.clocks,
      metrics: GatewayMetrics(metrics), logger: logger)
    let context = ServiceContext(
      name: "gateway", instance: "gateway@test/1", logger: logger, metrics: metrics, clocks: clocks.clocks)
    calls = GatewayCalls(rules, broker: broker, context: context, messages: messages) { [clocks] time in
      clocks.advance(by: time)
      onPause()
    }
  }

  func post(
    _ path: String, _ json: String, locale: String? = nil, withApp: Bool = true, bearer: String? = nil
  ) async throws -> JSONValue {
    try await call(
      path, .post, body: try CallBody(json: Array(json.utf8), .batch), locale: locale, withApp: withApp, bearer: bearer)
  }

  func post(_ path: String, form: String) async throws -> JSONValue {
    try await call(path, .post, body: try CallBody(form: Array(form.utf8)))
  }

  func get(_ path: String, query: String = "", bearer: String? = nil) async throws -> JSONValue {
    let query = try CallBody(encoded: Array(query.utf8), maxFields: CallLimits.maxQueryParameters)
    return try await call(path, .get, query: query, bearer: bearer)
  }

  func delete(_ path: String) async throws -> JSONValue { try await call(path, .delete) }

  func call(
    _ path: String, _ method: Route.Method, query: CallBody = .empty, body: CallBody = .empty, locale: String? = nil,
    withApp: Bool = true, bearer: String? = nil
  ) async throws -> JSONValue {
    try JSONValue(
      parsing:
        await answer(path, method, query: query, body: body, locale: locale, withApp: withApp, bearer: bearer).json)
  }

  func answer(
    _ path: String, _ method: Route.Method, query: CallBody = .empty, body: CallBody = .empty, locale: String? = nil,
    withApp: Bool = true, userAgent: String = "FirebaseAuth.iOS/11", bearer: String? = nil
  ) async throws -> CallAnswer {
    let pattern = path.replacing("/projects/example", with: "/projects/{project}")
      .replacing("/oidc.example", with: "/{provider}")
    let route = try #require(
      calls.routes.first {
        $0.paths.contains(pattern) && ($0.method == method || $0.method == nil)
          && (bearer == nil || $0.access == .administrator)
      })
    let client = CallClient(
      address: "192.0.2.1", userAgent: userAgent, locale: locale, origin: nil,
      appName: "com.example.push")
    let outcome = try await route.implementation(
      Call(
        request: HTTPServerRequest(method: method.rawValue, path: path), name: route.name,
        variables: ["project": "example", "provider": "oidc.example"], projectOrNil: project,
        app: withApp ? project.apps[0] : nil,
        client: client, apiKey: "fake-api-key", bearer: bearer, query: query, body: body, requestID: "r",
        deadline: clocks.monotonic.now() + .seconds(20)))
    guard case .json(let answer) = outcome else { throw UnexpectedOutcome() }
    return answer
  }

  func page(
    _ path: String, query: [UInt8], form: String?, headers: HTTPServerHeaders, project: Project?
  ) async throws -> CallPage {
    let method: Route.Method = form == nil ? .get : .post
    let route = try #require(calls.routes.first { $0.paths.contains(path) && $0.method == method })
    #expect(route.access == .page && route.errorForm == .page)
    let call = Call(
      request: HTTPServerRequest(method: method.rawValue, path: path, headers: headers, remoteAddress: "127.0.0.1"),
      name: route.name, variables: [:], projectOrNil: project, app: nil, client: CallClient(address: "192.0.2.1"),
      apiKey: nil, bearer: nil, query: try CallBody(encoded: query, maxFields: CallLimits.maxQueryParameters),
      body: try form.map { try CallBody(form: Array($0.utf8)) } ?? .empty, requestID: "r",
      deadline: clocks.monotonic.now() + .seconds(20))
    guard case .page(let page) = try await route.implementation(call) else { throw UnexpectedOutcome() }
    return page
  }

  private struct UnexpectedOutcome: Error {}

  func refusal(
    _ path: String, _ json: String, withApp: Bool = true, bearer: String? = nil
  ) async throws -> ProtocolError {
    let error = await #expect(throws: ProtocolError.self) {
      try await post(path, json, withApp: withApp, bearer: bearer)
    }
    return try #require(error)
  }

  /// A refusal with 400, before anything is asked.
  func unasked(_ path: String, _ json: String, bearer: String? = nil) async throws -> ProtocolError {
    let error = try await refusal(path, json, bearer: bearer)
    #expect(error.status == 400 && services.messages.isEmpty)
    return error
  }

  func requireSealed(_ secrets: [String]) {
    let sent = services.sent
    for secret in secrets { #expect(!sent.contains(secret) && !log.contains(secret)) }
  }

  var log: String { sink.lines(.json).joined(separator: "\n") }
}
