import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import JobEngine
import RecordStore
import SQLite
import Synchronization
import TestSupport

@testable import Push

enum Sample {
  static let now = UnixTime(seconds: 1_782_907_200)
  static let moment = ManualMonotonicClock().now()
  static let deadline = now + .seconds(60)
  static let app = "com.example.app"
  static let deviceToken = String(repeating: "0a", count: 32)

  static let config = Repository.config

  static func apnsTable() throws(WorkerError) -> ProviderTable {
    try ProviderTable(file: config + "/providers/apns.json5")
  }

  static func recaptchaTable() throws(WorkerError) -> ProviderTable {
    try ProviderTable(file: config + "/providers/recaptcha.json5")
  }

  static func recaptcha(_ name: String, _ http: any HTTPCaller) throws(WorkerError) -> LaneContext {
    LaneContext(name: name, table: try recaptchaTable(), http: http, clock: ManualClock(now))
  }

  static func googleOAuthTable() throws(WorkerError) -> ProviderTable {
    try ProviderTable(file: config + "/providers/google-oauth.json5")
  }

  /// The key of RFC 7515, appendix A.3, as a team's.
  static let keyFile = SampleKeys.rfc7515

  static func key() throws(JOSEError) -> SigningKey {
    try SigningKey(file: Array(keyFile.utf8), id: "ABC1234567")
  }

  static func push(isEnvironmentStated: Bool = true) -> SilentPush {
    SilentPush(
      app: app, deviceToken: deviceToken, topic: app, payload: Array("{}".utf8), expiration: deadline,
      isEnvironmentStated: isEnvironmentStated)
  }

  static func apnsAPI(
    _ environment: DeviceEnvironment = .production, baseURL: String = "https://apns.test",
    answerTimeout: Duration = .seconds(3), clock: any WallClock
  ) throws(WorkerError) -> APNsAPI {
    APNsAPI(
      environment: environment, baseURL: baseURL, answerTimeout: answerTimeout, table: try apnsTable(), clock: clock)
  }

  static func call(_ request: AssessmentRequest, siteKey: String = "s") -> AssessmentCall {
    AssessmentCall(
      request: request, app: RecaptchaApp(lane: "r", siteKey: siteKey, rules: AssessmentRules(bundleID: app)),
      isUncertain: false)
  }

  static func attempt(_ jobID: String = "v1.push", timeout: Duration = .seconds(10)) -> JobAttempt {
    JobAttempt(
      job: MessageIdentity(sender: SenderRule.unnamed, messageID: jobID), deadline: deadline, timeout: timeout,
      startedAt: now)
  }
}

final class FakeConnection: HTTPCaller {
  typealias Answer = @Sendable (HTTPRequest) async throws(TransportError) -> HTTPResponse

  private struct State {
    var requests: [HTTPRequest] = []
    var isShutDown = false
  }

  private let state = Mutex(State())
  private let answer: Answer

  init(_ answer: @escaping Answer) {
    self.answer = answer
  }

  convenience init(_ status: Int, _ body: String = "", headers: [(name: String, value: String)] = []) {
    self.init { (_) async throws(TransportError) -> HTTPResponse in
      HTTPResponse(status: status, headers: HTTPHeaders(headers), body: Array(body.utf8), version: .http2)
    }
  }

  var requests: [HTTPRequest] { state.withLock { $0.requests } }
  var isShutDown: Bool { state.withLock { $0.isShutDown } }

  func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
    state.withLock { $0.requests.append(request) }
    return try await answer(request)
  }

  func shutdown() async { state.withLock { $0.isShutDown = true } }
}

final class FakeConnections: Sendable {
  private let state: Mutex<(waiting: [FakeConnection], opened: [FakeConnection])>

  init(_ connections: [FakeConnection]) {
    state = Mutex((connections, []))
  }

  var opened: [FakeConnection] { state.withLock { $0.opened } }
  var requests: [HTTPRequest] { opened.flatMap(\.requests) }

  func open() throws(TransportError) -> any HTTPCaller {
    let connection = state.withLock { state -> FakeConnection? in
      guard !state.waiting.isEmpty else { return nil }
      let connection = state.waiting.removeFirst()
      state.opened.append(connection)
      return connection
    }
    guard let connection else {
      throw TransportError(kind: .other, requestMayHaveLeft: false, description: "no more connections")
    }
    return connection
  }

  func pool(limit: Int = 1) -> ConnectionPool {
    ConnectionPool(ConnectionSelector(limit: limit, width: 100)) { () throws(TransportError) in try self.open() }
  }
}

extension Classification {
  /// The case and the reason's code, for tables: `refused UNREGISTERED`.
  var short: String {
    switch self {
    case .accepted(let reference, _): "accepted \(reference ?? "-")"
    case .refused(let reason, _): "refused \(reason.code)"
    case .otherLane(let reason, _): "otherLane \(reason.code)"
    case .retry(let reason, _): "retry \(reason.code)"
    case .unknown(let reason): "unknown \(reason.code)"
    case .lost(let reason, _): "lost \(reason.code)"
    case .continued: "continued"
    case .laneDown(let reason): "laneDown \(reason.code)"
    case .notCalled(let reason, let why): "\(why) \(reason.code)"
    }
  }

  var extras: ResultExtras {
    switch self {
    case .accepted(_, let extras), .refused(_, let extras), .otherLane(_, let extras): extras
    case .retry, .unknown, .lost, .continued, .laneDown, .notCalled: [:]
    }
  }

  var reason: Reason? {
    switch self {
    case .accepted, .continued: nil
    case .refused(let reason, _), .otherLane(let reason, _), .retry(let reason, _), .unknown(let reason),
      .lost(let reason, _), .laneDown(let reason), .notCalled(let reason, _):
      reason
    }
  }
}

final class MemoryFile: Sendable {
  let memory: PushMemory
  private let directory: TemporaryDirectory

  init() async throws {
    directory = try TemporaryDirectory()
    memory = PushMemory(
      try await RecordTable.open(path: directory.path + "/memory.sqlite", of: .pushMemory),
      environmentLife: .seconds(24 * 3600), logger: Logger(label: "test", sink: MemorySink()))
  }
}
