import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import JobEngine
import Synchronization
import TestSupport
import Testing

@testable import Revocation

@Suite struct RevocationMessageTests {
  private final class Canned: HTTPCaller {
    private let answer: HTTPResponse
    private let forms = Mutex<[String]>([])

    init(_ body: String) { answer = HTTPResponse(status: 200, body: Array(body.utf8)) }

    var sent: [String] { forms.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
      forms.withLock { $0.append(String(decoding: request.body ?? [], as: UTF8.self)) }
      return answer
    }
  }

  private let keys: KeyRing
  private let sealer: Sealer

  init() throws {
    keys = try Samples.keys("key", "older-key")
    sealer = Sealer(keys: keys)
  }

  private func handler(_ http: any HTTPCaller = Canned("")) throws -> RevocationJobHandler {
    let lane = AppleLane(
      LaneContext(name: "app", table: try Samples.table(), http: http, clock: ManualClock(Samples.now)),
      clientID: Samples.app, baseURL: "https://appleid.apple.com", secret: try Samples.secret())
    return RevocationJobHandler(
      lanes: [lane], clients: [.init(app: Samples.app, clientID: Samples.app): "app"], keys: keys,
      persistence: .seconds(3600))
  }

  private func body(_ token: AppleToken, app: String = Samples.app, clientID: String? = nil) -> AppleRevokeJob {
    AppleRevokeJob(app: app, clientID: clientID, token: token, deadline: Samples.now + .seconds(300))
  }

  private func sealed(_ id: String = "job-1", app: String = Samples.app, with sealer: Sealer? = nil) throws
    -> SecretField
  {
    try (sealer ?? self.sealer).seal(
      Secret("t"), for: SealContext(messageType: AppleRevokeJob.type, messageID: id, recipient: app))
  }

  @Test func `Sealed tokens are opened for their message only`() throws {
    let handler = try handler()
    let elsewhere = Sealer(keys: try Samples.keys("stranger"))
    #expect(handler.prepare(body(.refreshToken(try sealed())), of: Samples.message()).short == "ready app")
    #expect(
      handler.prepare(body(.refreshToken(try sealed("job-2"))), of: Samples.message()).short == "invalid SEAL_MISMATCH")
    #expect(
      handler.prepare(body(.refreshToken(try sealed(app: "com.example.other"))), of: Samples.message()).short
        == "invalid SEAL_MISMATCH")
    #expect(
      handler.prepare(body(.refreshToken(try sealed(with: elsewhere))), of: Samples.message()).short
        == "invalid UNKNOWN_KEY")
    #expect(
      handler.prepare(body(.refreshToken(SecretField(Secret("")))), of: Samples.message()).short
        == "invalid INVALID_FIELD")
  }

  @Test func `A client that no lane serves is refused`() throws {
    let handler = try handler()
    let token = AppleToken.refreshToken(SecretField(Secret("t")))
    for job in [body(token, app: "com.example.other"), body(token, clientID: "com.example.web")] {
      #expect(handler.prepare(job, of: Samples.message()).short == "refused UNKNOWN_CLIENT")
    }
    #expect(handler.prepare(body(token, clientID: Samples.app), of: Samples.message()).short == "ready app")
  }

  @Test func `Only a sealed token shows that a message is a stage of another job`() throws {
    let handler = try handler()
    let stage = body(.refreshToken(try sealed("job-1.revoke")))
    func job(_ body: AppleRevokeJob, _ id: String, stageOf: String?) -> String {
      handler.jobID(of: body, Samples.message(id, stageOf: stageOf))
    }
    #expect(job(stage, "job-1.revoke", stageOf: "job-1") == "job-1")
    #expect(job(stage, "job-1.revoke", stageOf: nil) == "job-1.revoke")
    #expect(job(stage, "job-1.revoke", stageOf: "job-2") == "job-1.revoke")
    let plain = SecretField(Secret("t"))
    #expect(job(body(.refreshToken(plain)), "job-1.revoke", stageOf: "job-1") == "job-1.revoke")
    let code = body(.authorizationCode(try sealed("job-1.revoke")))
    #expect(job(code, "job-1.revoke", stageOf: "job-1") == "job-1.revoke")
  }

  @Test func `The stage of a code tells what the job brought`() throws {
    let stage = body(.refreshToken(try sealed("job-1.revoke")))
    let prepared = try handler().prepare(stage, of: Samples.message("job-1.revoke", stageOf: "job-1")).ready
    #expect(prepared?.facts.extras == ["tokenKind": "authorizationCode", "stage": "revoke"])
  }

  @Test func `The ID of a codes job leaves room for that of its stage`()
    throws
  {
    let code = AppleToken.authorizationCode(SecretField(Secret("c")))
    let handler = try handler()
    func short(_ length: Int, _ token: AppleToken) -> String {
      handler.prepare(body(token), of: Samples.message(String(repeating: "j", count: length))).short
    }
    #expect(short(241, code) == "ready app")
    #expect(short(242, code) == "invalid INVALID_FIELD")
    #expect(short(242, .refreshToken(SecretField(Secret("t")))) == "ready app")
  }

  @Test func `The forms are those of apples documentation`() async throws {
    let http = Canned(#"{"access_token":"a","refresh_token":"r"}"#)
    let handler = try handler(http)
    var job = body(.authorizationCode(SecretField(Secret("c+/="))))
    job.redirectURI = "https://example.com/?a=b"
    for body in [job, body(.accessToken(SecretField(Secret("t"))))] {
      let prepared = try #require(handler.prepare(body, of: Samples.message()).ready)
      _ = await handler.perform(prepared.job, on: "app", Samples.attempt())
    }
    let forms = http.sent.map { form in
      form.split(separator: "&").map { $0.hasPrefix("client_secret=ey") ? "client_secret=…" : String($0) }
    }
    #expect(
      forms == [
        [
          "client_id=com.example.app", "client_secret=…", "grant_type=authorization_code", "code=c%2B%2F%3D",
          "redirect_uri=https%3A%2F%2Fexample.com%2F%3Fa%3Db",
        ],
        ["client_id=com.example.app", "client_secret=…", "token=t", "token_type_hint=access_token"],
      ])
  }

  @Test func `Without a refresh token the access token is revoked`()
    async throws
  {
    let handler = try handler(Canned(#"{"access_token":"a"}"#))
    let prepared = try #require(
      handler.prepare(body(.authorizationCode(SecretField(Secret("c")))), of: Samples.message()).ready)
    guard case .continued(let stage) = await handler.perform(prepared.job, on: "app", Samples.attempt()) else {
      return #expect(Bool(false), "no next stage")
    }
    let next = try AppleRevokeJob(json: stage.body)
    #expect(next.token.kind == .accessToken && next.token.secret.isSealed)
  }

  @Test(
    arguments: [
      "", "{}", "<html>", #"{"refresh_token":"R"}"#.replacing("R", with: String(repeating: "r", count: 60_000)),
    ])
  func `An answer without a token that can be kept loses it`(answer: String) async throws {
    let handler = try handler(Canned(answer))
    let prepared = try #require(
      handler.prepare(body(.authorizationCode(SecretField(Secret("c")))), of: Samples.message()).ready)
    #expect(await handler.perform(prepared.job, on: "app", Samples.attempt()).short == "lost LOST")
  }
}
