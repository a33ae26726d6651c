import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Synchronization
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination

@Suite struct CoordinatorRoundsTests {
  private let bench: Bench
  /// Counts the loads of each transaction and look.
  private let store: FaultyStore

  init() async throws {
    bench = try await Bench(Bench.rules { $0.isDevelopment = true })
    store = FaultyStore(bench.store)
    bench.faulty = store
  }

  private func loads(_ command: some Command, user: String? = nil) async throws -> Int {
    _ = try await bench.send(command, user: user)
    return try #require(store.rounds.last)
  }

  private func loads(_ report: Message) async throws -> Int {
    await bench.deliverResults([report])
    return try #require(store.rounds.last)
  }

  @Test func `The frequent commands and reports take no more loads than their look-ups chain`() async throws {
    let start = StartVerification(phoneNumber: Bench.number, app: Bench.app, client: .init(ip: "192.0.2.1"))
    #expect(try await loads(start) == 1)
    let id = try VerificationStarted(json: try #require(bench.replies.first).body).verificationID
    let job = try #require(try bench.jobs().first)
    #expect(try await loads(bench.result(job.id, .accepted)) == 1)
    bench.clock.advance(by: .seconds(30))
    #expect(try await loads(start) == 1, "the code once more")
    #expect(try await loads(CheckVerification(id, Bench.wrong(job.code))) == 2)
    #expect(try await loads(CheckVerification(id, job.code)) == 2)
    #expect(try await loads(bench.result("\(id).sms.2", .accepted)) == 1)
    let fictional = try await bench.start(Bench.fictional).verificationID
    #expect(try await loads(CheckVerification(fictional, "654321")) == 2)
    let late = try await bench.start("+14155550124").verificationID
    #expect(try await loads(bench.result("\(late).sms.1", .accepted)) == 1)
    bench.clock.advance(by: .seconds(3600))
    #expect(try await loads(CheckVerification(late, "000000")) == 2, "expired")
    // A proof: the receipt, and then its device.
    let verify = VerifyApp(app: Bench.pushApp, deviceToken: Bench.token, environment: .sandbox)
    #expect(try await loads(verify) == 1)
    let push = try #require(try bench.pushes().last)
    let receipt = push.job.receipt
    #expect(try await loads(bench.report(PushVerifyJob.self, push.id, .accepted)) == 2)
    #expect(try await loads(bench.startCommand(Bench.pair(receipt, push.secret))) == 2)
    // An assessment, and the start that waits for it.
    let captcha = bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp, number: "+14155550177")
    #expect(try await loads(captcha) == 1)
    let assessment = try #require(try bench.published(RecaptchaAssessJob.self).first).id
    #expect(
      try await loads(bench.report(RecaptchaAssessJob.self, assessment, .accepted, extras: ["score": 0.9])) == 2)
    #expect(bench.replies.map(\.type) == ["verification.started.v1"])
  }

  @Test(arguments: [true, false], ["192.0.2.1", nil])
  func `A check of a code runs once, when its record and all that it names for it are loaded`(
    isRight: Bool, ip: String?
  ) async throws {
    let (id, code) = try await bench.begin()
    let command = CheckVerification(
      verificationID: id, code: SecretField(Secret(isRight ? code : Bench.wrong(code))),
      client: ip.map { .init(ip: $0) })
    let envelope = Envelope(type: CheckVerification.type, messageID: "m", userID: "service")
    let kind = try #require(bench.context.registry.commands[CheckVerification.type])
    let order = try kind.read(envelope, Array(command.json()), bench.clock.now(), [:])
    var first = StoreKeys()
    try order.addFirstKeys(to: &first, at: bench.clock.now())
    let runs = Mutex(0)
    let outcome = try await bench.store.transact(first, at: bench.clock.now()) { set throws(StoreError) in
      var more = StoreKeys()
      try order.addMoreKeys(to: &more, from: set)
      try set.require(more)
      runs.withLock { $0 += 1 }
      return try order.carryOut(envelope, in: &set)?.error
    }
    guard case .stored(let error, _) = outcome else { throw StoreError(.conflict, "\(outcome)") }
    #expect(error == (isRight ? nil : .invalidCode) && runs.withLock { $0 } == 1)
  }

  @Test func `Every other command takes so many loads`() async throws {
    let id = try await bench.start().verificationID
    let taken = [
      "verification.status": try await loads(GetVerificationStatus(verificationID: id)),
      "verification.find": try await loads(FindVerifications(phoneNumber: Bench.number), user: "operator"),
      "operation.status": try await loads(GetOperationStatus(operationID: id)),
      "verification.cancel": try await loads(CancelVerification(verificationID: id)),
      "revocation.start": try await loads(
        StartRevocation(app: Bench.app, token: .refreshToken(SecretField(Secret("r"))))),
      "revocation.confirm": try await loads(
        ConfirmRevocation(operationID: id, confirmedAt: bench.clock.now()), user: Topology.Users.accounts),
      "conversion.list": try await loads(ListConversions(), user: "operator"),
      "conversion.lift": try await loads(LiftConversionBlock(key: "+1415555"), user: "operator"),
      "number.forget": try await loads(ForgetNumber(phoneNumber: Bench.number), user: "operator"),
      "development.reset": try await loads(ResetDevelopment(), user: "operator"),
      "operator.note": try await loads(NoteAct(act: "dead.drop"), user: "operator"),
      "operator.audit": try await loads(ListOperatorActs(limit: 200), user: "operator"),
    ]
    #expect(
      taken == [
        "verification.status": 1, "verification.find": 1, "operation.status": 1, "verification.cancel": 1,
        "revocation.start": 3, "revocation.confirm": 2, "conversion.list": 1, "conversion.lift": 2, "number.forget": 2,
        "development.reset": 1,
        "operator.note": 1, "operator.audit": 1,
      ])
    let frequent = [StartVerification.type, CheckVerification.type, VerifyApp.type]
    #expect(
      Set(taken.keys).union(frequent.map(\.name)) == Set(bench.context.registry.commandKinds.map(\.type.name)))
  }

  @Test func `All runs of a start make the same assessment`() async throws {
    let command = bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp)
    let envelope = try Envelope(try bench.message(command))
    let kind = try #require(bench.context.registry.commands[StartVerification.type])
    let order = try kind.read(envelope, try command.json(), bench.clock.now(), [:])
    let assessments = AssessmentRecords(bench.rules)
    var ids: [String?] = []
    for _ in 0..<2 {
      ids.append(
        try await bench.store.read(StoreKeys(), at: bench.clock.now()) { set throws(StoreError) in
          _ = try order.carryOut(envelope, in: &set)
          return try assessments.waiting(envelope.identity, in: set)?.id
        })
    }
    #expect(ids[0] != nil && ids[0] == ids[1])
  }
}
