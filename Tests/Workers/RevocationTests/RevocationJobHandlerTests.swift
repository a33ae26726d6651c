import CountersignMessages
import CountersignTelemetry
import HTTPClient
import JobEngine
import Simulation
import TestSupport
import Testing

@testable import Revocation

@Suite(.timeLimit(.minutes(10))) struct RevocationJobHandlerTests {
  private func stage(_ classification: Classification) throws -> NextStage {
    guard case .continued(let stage) = classification else {
      Issue.record("\(classification.short) instead of a next stage")
      throw ContractProblem(.invalidField, "no stage")
    }
    return stage
  }

  @Test func `A code becomes a sealed token which is revoked`() async throws {
    try await AppleBench.run { bench in
      let code = try await bench.code()
      let stage = try stage(try await bench.perform(bench.body(.authorizationCode, code)))
      #expect(stage.messageID == "job-1.revoke")
      #expect(try await bench.revocations() == [])
      let body = try AppleRevokeJob(json: stage.body)
      #expect(body.app == Samples.app)
      #expect(body.token.kind == .refreshToken && body.token.secret.isSealed)
      #expect(body.deadline == Samples.now + .seconds(3600), "the token outlives the job's own deadline")
      #expect(bench.handler.jobID(of: body, Samples.message("job-1.revoke", stageOf: "job-1")) == "job-1")
      let revoked = try await bench.perform(body, id: "job-1.revoke", stageOf: "job-1")
      #expect(revoked == .accepted(reference: nil, extras: ["stage": "revoked"]))
      let found = try await bench.revocations()
      #expect(found.map(\.code) == [code])
      #expect(found.map(\.tokenTypeHint) == ["refresh_token"])
      #expect(found.map(\.isKnown) == [true])
    }
  }

  @Test func `The subject of a code is compared before anything is revoked, and told`() async throws {
    try await AppleBench.run { bench in
      var job = bench.body(.authorizationCode, try await bench.code(subject: "001.a"))
      job.subject = "001.a"
      let stage = try stage(try await bench.perform(job))
      let body = try AppleRevokeJob(json: stage.body)
      #expect(body.subject == "001.a")
      let message = Samples.message(stage.messageID, stageOf: "job-1")
      let facts = try #require(bench.handler.prepare(body, of: message).ready).facts
      #expect(facts.extras["subject"] == "001.a")
      var other = bench.body(.authorizationCode, try await bench.code(subject: "001.b"))
      other.subject = "001.a"
      #expect(try await bench.perform(other, id: "job-2").short == "refused SUBJECT_MISMATCH")
      #expect(try await bench.revocations() == [])
    }
  }

  @Test func `A subject that cannot be compared is refused`() async throws {
    try await AppleBench.run { bench in
      for kind in [AppleToken.Kind.refreshToken, .accessToken] {
        var job = bench.body(kind, "token")
        job.subject = "001.a"
        #expect(bench.handler.prepare(job, of: Samples.message()).short == "invalid INVALID_FIELD")
      }
      for subject in ["", String(repeating: "s", count: 256)] {
        var job = bench.body(.authorizationCode, "code")
        job.subject = subject
        #expect(bench.handler.prepare(job, of: Samples.message()).short == "invalid INVALID_FIELD")
      }
    }
  }

  @Test func `A longer deadline is the tokens too`() async throws {
    try await AppleBench.run { bench in
      let deadline = Samples.now + .seconds(90_000)
      let job = bench.body(.authorizationCode, try await bench.code(), deadline: deadline)
      let stage = try stage(try await bench.perform(job))
      #expect(try AppleRevokeJob(json: stage.body).deadline == deadline)
    }
  }

  @Test(
    arguments: [(AppleToken.Kind.refreshToken, "refresh_token"), (.accessToken, "access_token")])
  func `A token is revoked at once`(kind: AppleToken.Kind, hint: String) async throws {
    try await AppleBench.run { bench in
      for _ in 0..<2 { #expect(try await bench.perform(bench.body(kind, "token")).short == "accepted") }
      let found = try await bench.revocations()
      #expect(found.map(\.tokenTypeHint) == [hint, hint])
    }
  }

  @Test func `A services ID is a lane of its own`() async throws {
    try await AppleBench.run { bench in
      let uri = "https://example.com/signed-in"
      let code = try await bench.code(Samples.service, redirectURI: uri)
      let job = bench.body(.authorizationCode, code, clientID: Samples.service, redirectURI: uri)
      #expect(bench.handler.prepare(job, of: Samples.message()).short == "ready web")
      let stage = try stage(try await bench.perform(job))
      let next = try AppleRevokeJob(json: stage.body)
      #expect(next.clientID == Samples.service && next.redirectURI == nil)
      _ = try await bench.perform(next, id: stage.messageID, stageOf: "job-1")
      #expect(try await bench.revocations().map(\.clientID) == [Samples.service])
    }
  }

  @Test(
    arguments: [
      ("invalid_request", "refused INVALID_REQUEST"), ("invalid_client", "laneDown PROVIDER_CREDENTIALS"),
      ("invalid_grant", "refused INVALID_GRANT"), ("unauthorized_client", "laneDown CLIENT_NOT_AUTHORIZED"),
      ("unsupported_grant_type", "laneDown UNSUPPORTED_GRANT_TYPE"), ("invalid_scope", "refused INVALID_SCOPE"),
    ])
  func `Each error ends in its class`(error: String, expected: String) async throws {
    try await AppleBench.run { bench in
      let code = try await bench.code(error: error)
      #expect(try await bench.perform(bench.body(.authorizationCode, code)).short == expected)
    }
  }

  @Test func `A code that was used is refused`() async throws {
    try await AppleBench.run { bench in
      let job = bench.body(.authorizationCode, try await bench.code())
      _ = try await bench.perform(job)
      #expect(try await bench.perform(job, id: "job-2").short == "refused INVALID_GRANT")
    }
  }

  @Test func `A code that was used by a try of unknown end is lost`()
    async throws
  {
    try await AppleBench.run { bench in
      let job = bench.body(.authorizationCode, try await bench.code())
      try await bench.fault(#"{"provider": "apple-token", "fault": "reset", "processed": true}"#)
      #expect(try await bench.perform(job).short == "unknown NO_ANSWER")
      let second = try await bench.perform(job, unknownCalls: 1)
      guard case .lost(let reason, _) = second else { return #expect(Bool(false), "\(second.short) instead of lost") }
      #expect(reason.code == "LOST" && reason.providerCode == "invalid_grant")
      #expect(reason.detail.contains("sign in with Apple again") && reason.detail.contains("Settings"))
    }
  }

  @Test func `A try of unknown end that did not use the code is repaired`() async throws {
    try await AppleBench.run { bench in
      let job = bench.body(.authorizationCode, try await bench.code())
      try await bench.fault(#"{"provider": "apple-token", "fault": "503"}"#)
      #expect(try await bench.perform(job).short == "unknown PROVIDER_ERROR")
      #expect(try await bench.perform(job, unknownCalls: 1).short == "continued job-1.revoke")
    }
  }

  @Test func `A wrong redirect URI is the jobs fault and not the clients`() async throws {
    try await AppleBench.run { bench in
      let code = try await bench.code(Samples.service, redirectURI: "https://example.com/right")
      let job = bench.body(
        .authorizationCode, code, clientID: Samples.service, redirectURI: "https://example.com/wrong")
      #expect(try await bench.perform(job).short == "refused REDIRECT_URI_MISMATCH")
    }
  }

  @Test func `A client that Apple does not know takes its lane down`()
    async throws
  {
    let wrong: [ClientSecret] = [
      try Samples.secret(key: Samples.otherKeyFile), try Samples.secret(keyID: "OTHERKEY01"),
      try Samples.secret(teamID: "OTHERTEAM1"), try Samples.secret(clientID: "com.example.other"),
    ]
    for secret in wrong {
      try await AppleBench.run(secret: secret) { bench in
        #expect(try await bench.perform(bench.body(.refreshToken, "t")).short == "laneDown PROVIDER_CREDENTIALS")
        let job = bench.body(.authorizationCode, try await bench.code(), redirectURI: "https://example.com/")
        #expect(try await bench.perform(job).short == "laneDown PROVIDER_CREDENTIALS")
        guard case .down(let reason) = await bench.handler.probe(lane: "app") else {
          return #expect(Bool(false), "the lane is up")
        }
        #expect(reason.code == "PROVIDER_CREDENTIALS")
      }
    }
  }

  @Test func `A wrong clock is a cause that Apple does not tell`() async throws {
    try await AppleBench.run { bench in
      let secret = try Samples.secret()
      _ = try secret.current(now: Samples.now - .seconds(600))
      var lane = AppleLane(
        LaneContext(
          name: "late", table: try Samples.table(), http: bench.http, clock: ManualClock(Samples.now - .seconds(600))),
        clientID: Samples.app, baseURL: bench.simulator.url, secret: secret)
      lane.probeTimeout = .patience
      guard case .down(let reason) = await lane.probe() else { return #expect(Bool(false), "the lane is up") }
      #expect(reason.detail.contains("clock"))
    }
  }

  @Test func `A client that Apple knows is up`() async throws {
    try await AppleBench.run { bench in
      #expect(await bench.handler.probe(lane: "app") == .up)
      try await bench.fault(#"{"provider": "apple-revoke", "fault": "500"}"#)
      #expect(await bench.handler.probe(lane: "app") != .up)
    }
  }

  @Test(
    arguments: [
      (#""fault": "reset""#, "unknown NO_ANSWER"), (#""fault": "reset", "processed": true"#, "unknown NO_ANSWER"),
      (#""fault": "close""#, "unknown NO_ANSWER"), (#""fault": "hang""#, "unknown NO_ANSWER"),
      (#""fault": "500""#, "unknown PROVIDER_ERROR"),
      (#""fault": "429", "retryAfterSeconds": 7"#, "retry PROVIDER_THROTTLED 7"),
      (#""fault": "503", "retryAfterSeconds": 9"#, "retry PROVIDER_ERROR 9"),
    ])
  func `A revocation without a clear answer`(fault: String, expected: String) async throws {
    try await AppleBench.run { bench in
      try await bench.fault(#"{"provider": "apple-revoke", \#(fault), "count": 10}"#)
      let job = bench.body(.refreshToken, "t")
      // Only what hangs is waited for; a busy machine may take its time for the others.
      let timeout: Duration = fault.contains("hang") ? .seconds(2) : .patience
      #expect(try await bench.perform(job, timeout: timeout).short == expected)
    }
  }

  @Test func `Refused connections mean that nothing left`() async throws {
    let lane = AppleLane(
      LaneContext(
        name: "app", table: try Samples.table(), http: try HTTPClient(), clock: ManualClock(Samples.now)),
      clientID: Samples.app, baseURL: "http://127.0.0.1:9", secret: try Samples.secret())
    let classification = await lane.send(
      RevocationCall(step: .exchange(code: Secret("c"), redirectURI: nil)), Samples.attempt(timeout: .seconds(2)))
    #expect(classification.short == "retry NOT_CONNECTED")
  }

  @Test func `A revocation is repeated until its deadline and a code a few times`() async throws {
    try await AppleBench.run { bench in
      let code = try #require(bench.handler.prepare(bench.body(.authorizationCode, "c"), of: Samples.message()).ready)
      #expect(code.facts.onUnknown == .resend)
      #expect(code.facts.unknownReason?.code == "LOST")
      #expect(code.facts.extras == ["tokenKind": "authorizationCode", "stage": "exchange"])
      let token = try #require(bench.handler.prepare(bench.body(.accessToken, "t"), of: Samples.message()).ready)
      #expect(token.facts.onUnknown == .resendUntilDeadline)
      #expect(token.facts.unknownReason?.code == "NOT_CONFIRMED")
      #expect(token.facts.extras == ["tokenKind": "accessToken", "stage": "revoke"])
    }
  }
}
