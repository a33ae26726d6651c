import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite("Verifications of services", .timeLimit(.minutes(10)))
struct VerificationsTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private func service() async throws -> AccountsBench.Bearer {
    .token(try await bench.access([.verifications]))
  }

  private func other(project: String = AccountsBench.project) async throws -> AccountsBench.Bearer {
    let name = "backend-two"
    try await bench.makeServiceAccount([.verifications], name, project: project, key: ServiceKeys.other)
    return .token(try await bench.accessToken(name, project: project, key: ServiceKeys.other))
  }

  private func error(_ reply: Message?) throws -> APIError { try ErrorReply(json: #require(reply).body).error }

  private func started(_ reply: Message?) throws -> VerificationStarted {
    let reply = try #require(reply)
    try #require(reply.type == VerificationStarted.type.text, "\(String(decoding: reply.body, as: UTF8.self))")
    return try VerificationStarted(json: reply.body)
  }

  @Test func `A service starts, reads, checks and cancels its verifications, and is told the coordinator's answers`()
    async throws
  {
    let service = try await service()
    let verification = try started(
      await bench.startVerification(by: service) {
        ($0.languageCode, $0.client) = ("de", StartVerification.Client(ip: "192.0.2.1"))
      })
    #expect(verification.purpose == .verification && verification.phoneNumber == AccountsBench.number)
    let start = try #require(bench.coordinator.starts.first).command
    #expect(start.purpose == .verification && start.requester == nil && start.proof == nil)
    #expect(start.languageCode == "de" && start.client?.ip == "192.0.2.1")
    #expect(start.subject?.utf8.count == 64)
    let id = verification.verificationID
    let state = try VerificationStatus(json: await bench.getVerification(id, by: service, app: AccountsBench.app).body)
    #expect(state.state == .sent && state.purpose == .verification)
    #expect(try error(await bench.checkVerification(id, by: service, code: "000000")).attemptsLeft == 4)
    let approved = try VerificationApproved(json: await bench.checkVerification(id, by: service).body)
    #expect(approved.verificationID == id && approved.phoneNumber == AccountsBench.number)
    #expect(approved.purpose == .verification && approved.subject == nil)
    #expect(try error(await bench.checkVerification(id, by: service)).reason == "CODE_USED")
    let second = try await bench.verified(by: service)
    let canceled = try VerificationCanceled(json: await bench.cancelVerification(second, by: service).body)
    #expect(canceled.verificationID == second)
    #expect(try error(await bench.getVerification(second, by: service)).code == .invalidSessionInfo)
  }

  // MARK: Whose

  @Test func `A verification is there for the service account and app that started it alone`() async throws {
    let service = try await service()
    let id = try await bench.verified(by: service)
    let app = "com.example.other"
    let foreign = try await other()
    for caller in [foreign, .administrator] {
      for reply in [
        try await bench.getVerification(id, by: caller), try await bench.checkVerification(id, by: caller),
        try await bench.cancelVerification(id, by: caller),
      ] {
        let error = try error(reply)
        #expect(error == .unknownVerification)
      }
    }
    for reply in [
      try await bench.getVerification(id, by: service, app: app),
      try await bench.checkVerification(id, by: service) { $0.app = app },
      try await bench.cancelVerification(id, by: service, app: app),
      // No verification at all.
      try await bench.getVerification("s9", by: service), try await bench.getVerification("ill one", by: service),
    ] {
      let error = try error(reply)
      #expect(error == .unknownVerification)
    }
    #expect(try await bench.checkVerification(id, by: service).type == VerificationApproved.type.text)
  }

  @Test func `A service account of another project finds none, and has no say here`() async throws {
    let id = try await bench.verified(by: service())
    let foreign = try await other(project: AccountsBench.otherProject)
    #expect(try error(await bench.getVerification(id, by: foreign)).code == .invalidAccessToken)
    let reply = try await bench.getVerification(id, by: foreign, project: AccountsBench.otherProject)
    #expect(try error(reply) == .unknownVerification)
  }

  @Test func `An app is one of the project`() async throws {
    let service = try await service()
    #expect(
      try error(await bench.startVerification(by: service) { $0.app = "com.example.foreign" }).reason == "APP_NOT_FOUND"
    )
    #expect(try error(await bench.startVerification(by: service) { $0.app = "" }).code == .missingClientIdentifier)
    #expect(bench.coordinator.starts.isEmpty)
  }

  @Test func `Who has no say is told so, and nothing of apps, keys and verifications`() async throws {
    let wrong = AccountsBench.Bearer.token(Secret("wrong"))
    for reply in [
      try await bench.startVerification(by: wrong) { $0.app = "com.example.foreign" },
      try await bench.startVerification(by: wrong, key: ""),
      try await bench.checkVerification("ill one", by: wrong), try await bench.getVerification("ill one", by: wrong),
    ] {
      #expect(try error(reply).code == .invalidAccessToken)
    }
    #expect(bench.coordinator.starts.isEmpty)
  }

  @Test func `A disabled service account starts and checks nothing`() async throws {
    let service = try await service()
    let id = try await bench.verified(by: service)
    try await bench.set(.disable)
    #expect(try code(await bench.startVerification(by: service)) == .invalidAccessToken)
    #expect(try code(await bench.checkVerification(id, by: service)) == .invalidAccessToken)
    #expect(bench.coordinator.starts.count == 1 && bench.coordinator.compared == 0)
  }

  @Test func `No code of a service signs in, and no code of a user proves anything to a service`() async throws {
    let service = try await service()
    let id = try await bench.verified(by: service)
    let answer = try await bench.signIn(bench.command("a", session: id), "a")
    #expect(answer.error?.code == .invalidSessionInfo && answer.idToken == nil)
    bench.useFactors()
    let user = try await bench.makeUser()
    #expect(try await bench.finish(.user(user.idToken), session: id).error?.code == .invalidSessionInfo)
    #expect(try error(await bench.checkVerification("v1", by: service)) == .unknownVerification)
    #expect(bench.coordinator.compared == 0)
    #expect(try await bench.signIn(bench.command("b"), "b").error == nil)
  }

  // MARK: Idempotency keys

  @Test func `A request with the same key is the same command to the coordinator, with the same answer`() async throws {
    let service = try await service()
    let first = try started(await bench.startVerification(by: service, key: "k"))
    let again = try started(await bench.startVerification(by: service, key: "k"))
    #expect(first == again && bench.coordinator.starts.count == 1)
    let checked = try await bench.checkVerification(first.verificationID, by: service, key: "k")
    let checkedAgain = try await bench.checkVerification(first.verificationID, by: service, key: "k")
    #expect(checked.type == VerificationApproved.type.text && checkedAgain.type == checked.type)
    #expect(try VerificationApproved(json: checked.body) == VerificationApproved(json: checkedAgain.body))
    #expect(bench.coordinator.compared == 1)
    let others: [(AccountsBench.Bearer, String?)] = [
      (service, "l"), (service, nil), (service, nil), (try await other(), "k"),
    ]
    for (caller, key) in others {
      #expect(try started(await bench.startVerification(by: caller, key: key)) != first)
    }
    #expect(bench.coordinator.starts.count == 5)
    #expect(Set(bench.coordinator.starts.map(\.messageID)).count == 5)
  }

  @Test func `Two requests with one key at the same time are both answered`() async throws {
    let service = try await service()
    #expect(try await bench.send(bench.starting("a", by: service, key: "k"), id: "a") == nil)
    let first = try #require(bench.checks.first)
    #expect(try await bench.send(bench.starting("b", by: service, key: "k"), id: "b") == nil)
    let second = try #require(bench.checks.first)
    #expect(first.message.messageID == second.message.messageID)
    #expect(first.message.correlationID != second.message.correlationID)
    var answers: [VerificationStarted] = []
    for publication in [second, first] {
      await bench.report(try bench.coordinator.answer(start: publication, at: bench.clock.now()))
      answers.append(try started(bench.replies.first))
    }
    #expect(answers[0] == answers[1] && bench.coordinator.starts.count == 1)
  }

  @Test func `A key stands for one request`() async throws {
    let service = try await service()
    _ = try started(await bench.startVerification(by: service, key: "k"))
    let refused = try error(await bench.startVerification(by: service, key: "k") { $0.phoneNumber = "+16505550177" })
    #expect(refused.code == .invalidArgument && refused.field == "idempotencyKey")
    #expect(refused.reason == "IDEMPOTENCY_KEY_REUSED" && bench.coordinator.starts.count == 1)
    let longest = String(repeating: "k", count: StartServiceVerification.maxIdempotencyKeyBytes)
    #expect(try code(await bench.startVerification(by: service, key: longest)) == nil)
    for key in ["", "a\u{7F}", "é", longest + "k"] {
      #expect(try error(await bench.startVerification(by: service, key: key)) == .malformedIdempotencyKey)
    }
  }

  // MARK: Awaiting the coordinator

  @Test func `Refusals that a service can act on are passed on, and others are failures of ours`() async throws {
    let service = try await service()
    func refused(_ refusal: APIError) async throws -> APIError {
      let id = bench.nextID()
      #expect(try await bench.send(bench.starting(id, by: service), id: id) == nil)
      await bench.report(ScriptedCoordinator.reply(ErrorReply(refusal), to: try #require(bench.checks.first)))
      return try error(bench.replies.first)
    }
    for refusal in [
      APIError(.quotaExceeded, "is used up", retryAfter: 60), APIError(.tooManyAttempts, "later", retryAfter: 7),
      APIError(.invalidPhoneNumber, "a landline", field: "phoneNumber"), APIError(.operationNotAllowed, "the region"),
      APIError(.invalidArgument, "is no region", field: "region"),
    ] { #expect(try await refused(refusal) == refusal) }
    for field in ["purpose", "subject", "code", nil] {
      #expect(try await refused(APIError(.invalidArgument, "is unknown", field: field)).code == .internalError)
    }
    let reason = "MISSING_VARIABLE"
    let told = try await refused(APIError(.invalidArgument, "x", field: "variables.shop", reason: reason))
    #expect(told.code == .invalidArgument && told.field == "app" && told.reason == reason)
    #expect(told.message.contains("needs variables.shop") && told.message.contains("'variables' of the app"))
  }

  @Test func `An answer is believed from the coordinator, about what was asked`() async throws {
    let service = try await service()
    #expect(try await bench.send(bench.starting("a", by: service), id: "a") == nil)
    let answer = try await bench.reportStart(of: AccountsBench.number, for: .verification)
    #expect(try started(bench.replies.first) == answer)
  }

  @Test func `Without an answer the service may try again, and it is the same command`() async throws {
    let service = try await service()
    #expect(try await bench.send(bench.starting("a", by: service, key: "k"), id: "a") == nil)
    let first = try #require(bench.checks.first)
    bench.clock.advance(by: PhoneCheck.patience)
    _ = bench.sink.takePublished()
    await bench.maintenance.tidy()
    await bench.maintenance.publishLeftovers()
    let late = try error(bench.replies.first)
    #expect(late.reason == "VERIFICATION_NOT_ANSWERED" && late.retryAfter == 5)
    await bench.report(try bench.coordinator.answer(start: first, at: bench.clock.now()))
    #expect(bench.sink.published.isEmpty)
    #expect(try started(await bench.startVerification(by: service, key: "k")).verificationID == "s0")
    #expect(bench.coordinator.starts.count == 1)
    let message = try bench.message(bench.starting("b", by: service), id: "b")
    bench.clock.advance(by: .seconds(20))
    #expect(try error(await bench.send(message)).reason == "COMMAND_TOO_OLD")
    #expect(bench.checks.isEmpty)
  }

  // MARK: Crashes

  @Test func `Killed at each step between the start and the approval: the next process goes on`() async throws {
    try await AccountsBench.several { setting, start in
      func next() async throws -> AccountsBench {
        let bench = try await start(setting)
        await bench.maintenance.publishLeftovers()
        return bench
      }
      var bench = try await next()
      let service = AccountsBench.Bearer.token(try await bench.access([.verifications]))
      // Before the start was sent.
      let starting = try bench.message(bench.starting("a", by: service, key: "k"), id: "a")
      bench.sink.close()
      #expect(await bench.send(starting) == nil && bench.checks.isEmpty)
      await bench.die()

      // Sent, and delivered again: before its answer went out.
      bench = try await next()
      let publication = try #require(bench.checks.first)
      #expect(await bench.send(starting) == nil && bench.checks.isEmpty)
      let startReply = try bench.coordinator.answer(start: publication, at: bench.clock.now())
      bench.sink.close()
      await bench.report(startReply)
      #expect(bench.replies.isEmpty)
      await bench.die()

      // Before the check was sent.
      bench = try await next()
      let id = try VerificationStarted(json: #require(bench.replies.first).body).verificationID
      await bench.report(startReply)
      #expect(bench.sink.published.isEmpty)
      let checking = try bench.message(bench.checking(id, "f", by: service), id: "f")
      bench.sink.close()
      #expect(await bench.send(checking) == nil && bench.checks.isEmpty)
      await bench.die()

      // After the approval.
      bench = try await next()
      let approval = try bench.coordinator.answer(try #require(bench.checks.first), at: bench.clock.now())
      bench.sink.close()
      await bench.report(approval)
      #expect(bench.replies.isEmpty)
      await bench.die()

      bench = try await next()
      #expect(bench.replies.map(\.type) == [VerificationApproved.type.text])
      await bench.report(approval)
      #expect(bench.sink.published.isEmpty)
      #expect(try await bench.ask(checking).type == VerificationApproved.type.text)
      // The service, which has got no answer, asks again.
      let again = try await bench.startVerification(by: service, key: "k")
      #expect(try VerificationStarted(json: again.body).verificationID == id)
      #expect(bench.coordinator.starts.count == 1 && bench.coordinator.compared == 1)
      await bench.die()
    }
  }
}
