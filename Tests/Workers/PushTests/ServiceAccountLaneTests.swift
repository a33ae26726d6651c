import CountersignMessages
import CountersignTelemetry
import HTTPClient
import JobEngine
import Synchronization
import TestSupport
import Testing

@testable import Push

@Suite(.timeLimit(.minutes(10))) struct ServiceAccountLaneTests {
  /// Google: gives tokens t1, t2, …, and takes those that are valid.
  private final class Google: Sendable {
    let valid: Mutex<Set<String>>
    let given = Mutex(0)
    let clocks = ManualClocks(Sample.now)
    let failure: AccessTokenFailure?
    private let assessed =
      #"{"tokenProperties": {"valid": true, "action": "a", "iosBundleId": "com.example.app"}, "riskAnalysis": {"score": 0.9}}"#

    init(valid: Set<String>, failure: AccessTokenFailure? = nil) {
      self.valid = Mutex(valid)
      self.failure = failure
    }

    func lane(_ http: FakeConnection) throws -> EnterpriseLane {
      let tokens = AccessTokens(clock: clocks.monotonic, logger: Logger(label: "test", sink: MemorySink())) {
        [self] number in
        if let failure { return .failure(failure) }
        given.withLock { $0 += 1 }
        return .success(
          AccessToken(text: Secret("t\(number)"), number: number, expiresAt: clocks.monotonic.now() + .seconds(3599)))
      }
      return EnterpriseLane(
        context: try Sample.recaptcha("r", http), baseURL: "https://recaptcha.test", project: "p-1",
        credential: .tokens(tokens), monotonic: clocks.monotonic)
    }

    func connection() -> FakeConnection {
      FakeConnection { [self] (request) async throws(TransportError) -> HTTPResponse in
        let isValid = valid.withLock { valid in
          valid.contains(String(request.headers["Authorization"]?.dropFirst("Bearer ".count) ?? ""))
        }
        let body = isValid ? assessed : #"{"error": {"code": 401, "status": "UNAUTHENTICATED"}}"#
        return HTTPResponse(
          status: isValid ? 200 : 401, headers: HTTPHeaders([]), body: Array(body.utf8), version: .http2)
      }
    }
  }

  private func ask(_ lane: EnterpriseLane, timeout: Duration = .seconds(5)) async throws -> String {
    let request = AssessmentRequest(
      app: Sample.app, token: try #require(RecaptchaToken(Secret("the-token"), app: Sample.app)), expectedAction: "a",
      ip: nil, userAgent: nil, phoneNumber: nil)
    let outcome = await lane.send(Sample.call(request), Sample.attempt(timeout: timeout))
    guard case .accepted(_, let extras) = outcome else { return outcome.short }
    return "score \(extras["score"]?.number ?? 0)"
  }

  @Test func `The token is shown and no key`() async throws {
    let google = Google(valid: ["t1"])
    let http = google.connection()
    let lane = try google.lane(http)
    for _ in 0..<3 { #expect(try await ask(lane) == "score 0.9") }
    #expect(http.requests.map { $0.headers["Authorization"] } == ["Bearer t1", "Bearer t1", "Bearer t1"])
    #expect(http.requests.allSatisfy { $0.headers["X-Goog-Api-Key"] == nil })
    #expect(google.given.withLock { $0 } == 1)
  }

  @Test func `It is renewed under a moved clock`() async throws {
    let google = Google(valid: ["t1", "t2"])
    let http = google.connection()
    let lane = try google.lane(http)
    #expect(try await ask(lane) == "score 0.9")
    google.clocks.advance(by: .seconds(3595))
    #expect(try await ask(lane) == "score 0.9")
    #expect(http.requests.map { $0.headers["Authorization"] } == ["Bearer t1", "Bearer t2"])
  }

  @Test func `A token that was revoked is renewed once for all`() async throws {
    let google = Google(valid: ["t1"])
    let http = google.connection()
    let lane = try google.lane(http)
    #expect(try await ask(lane) == "score 0.9")
    google.valid.withLock { $0 = ["t2"] }
    let found = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 { group.addTask { try await ask(lane) } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(found == ["score 0.9"])
    #expect(google.given.withLock { $0 } == 2)
  }

  @Test func `Another refusal takes the lane down`() async throws {
    let google = Google(valid: [])
    let http = google.connection()
    let lane = try google.lane(http)
    #expect(try await ask(lane) == "laneDown PROVIDER_CREDENTIALS")
    #expect(http.requests.map { $0.headers["Authorization"] } == ["Bearer t1", "Bearer t2"])
  }

  @Test func `Without a token nothing is asked`() async throws {
    let reason = Reason("X", "x")
    for (failure, expected, probe) in [
      (AccessTokenFailure.transient(reason, after: nil), "retry X", ProbeResult.down(reason)),
      (.permanent(reason), "laneDown X", .down(reason)),
    ] {
      let http = FakeConnection(200)
      let lane = try Google(valid: [], failure: failure).lane(http)
      #expect(try await ask(lane) == expected)
      #expect(await lane.probe() == probe)
      #expect(http.requests.isEmpty)
    }
  }

  @Test func `A probe costs no assessment`() async throws {
    let google = Google(valid: ["t1"])
    let http = google.connection()
    #expect(await (try google.lane(http)).probe() == .cannotTell)
    #expect(http.requests.isEmpty)
  }

  @Test func `A token that comes too late is not used`() async throws {
    let google = Google(valid: ["t1"])
    let http = google.connection()
    #expect(try await ask(google.lane(http), timeout: .milliseconds(199)) == "retry TOKEN_UNAVAILABLE")
    #expect(http.requests.isEmpty)
  }
}
