import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct ConversionExcuseTests {
  private static let rules = Bench.rules { rules in
    rules.conversion.minimumPerPrefix = 3
    rules.conversion.minimumPerRegion = 5
    rules.maxCommandAge = .seconds(3600)
    rules.limits[.sendsPerPrefixPer10Minutes] = 100
  }

  private func number(_ index: Int) -> String { "+1415555\(1_000 + index)" }

  private func start(_ bench: Bench, waited: Duration = .zero) async throws {
    let sentAt = bench.clock.now()
    bench.clock.advance(by: waited)
    for index in 0..<3 {
      let command = StartVerification(phoneNumber: number(index), app: Bench.app)
      let id = try await bench.reply(to: command, sentAt: sentAt).verificationID
      await bench.deliverResults([try bench.result("\(id).sms.1", .accepted)])
    }
  }

  private func isBlocked(_ bench: Bench) async throws -> Bool {
    let command = StartVerification(phoneNumber: number(7), app: Bench.app)
    let now = try await bench.ask(command).type == "error.v1"
    try await bench.restart()
    let later = try await bench.ask(command).type == "error.v1"
    #expect(now == later)
    return now
  }

  @Test(arguments: [(10_999, true), (11_999, false)])
  func `A verification requested long before its SMS was sent does not count`(milliseconds: Int, isBlocked: Bool)
    async throws
  {
    let bench = try await Bench(Self.rules)
    try await start(bench, waited: .milliseconds(milliseconds))
    bench.clock.advance(by: .seconds(300))
    await bench.maintenance.tidy()
    #expect(try await self.isBlocked(bench) == isBlocked)
  }

  @Test func `Codes of late commands that do come back count, and so do wrong ones`() {
    func outcome(_ state: VerificationState, late: Bool) -> ConversionEnding.Outcome? {
      ConversionEnding.Outcome(state: state, failureCode: nil, messages: [.accepted], askedLate: late)
    }
    #expect(outcome(.approved, late: true) == .verified && outcome(.failed, late: true) == .failed)
    #expect(outcome(.expired, late: true) == nil && outcome(.expired, late: false) == .expired)
  }

  @Test func `A start that waited before its assessment is late after it as well`() async throws {
    let bench = try await Bench(Self.rules)
    let command = bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp)
    let sentAt = bench.clock.now() - .seconds(60)
    await bench.deliver([try bench.message(command, sentAt: sentAt)])
    let job = try #require(try bench.published(RecaptchaAssessJob.self).first)
    try await bench.finish(RecaptchaAssessJob.self, job.id, .accepted)
    let verifications = try await self.verifications(bench)
    #expect(verifications.map(\.askedLate) == [true] && verifications.first?.purpose == .signIn)
  }

  private func verifications(_ bench: Bench) async throws -> [PhoneVerification] {
    let texts = try await bench.database.read { session throws(StoreError) in
      try session.query("SELECT id FROM store_record WHERE kind = 'verification'") { row throws(StoreError) in
        row.text(0)
      }
    }
    let ids = texts.compactMap { RecordID(VerificationRecords.kind, $0) }
    var keys = StoreKeys()
    for id in ids { keys.add(record: id) }
    let set = try await bench.store.read(keys, at: bench.clock.now())
    return try ids.compactMap { try set.record($0) }.map { try PhoneVerification($0) }
  }

  @Test func `While the database takes nothing nobody can give a code back`() async throws {
    let bench = try await Bench(Self.rules)
    try await start(bench)
    await bench.maintenance.tidy()
    // The disk is full: the outage cannot be stored either.
    bench.broker.isThere = false
    bench.clock.advance(by: .seconds(250))
    try await bench.run("ALTER TABLE store_group RENAME TO away")
    await #expect(throws: StoreError.self) { try await bench.listen() }
    // It takes something again, and a command ends a verification before the maintenance looks.
    bench.clock.advance(by: .seconds(50))
    try await bench.run("ALTER TABLE away RENAME TO store_group")
    bench.broker.isThere = true
    _ = try await bench.ask(StartVerification(phoneNumber: number(0), app: Bench.app))
    await bench.maintenance.tidy()
    #expect(try await bench.count("conversionOutage") == 1)
    #expect(try await list(bench).prefixes.isEmpty)
    #expect(try await !isBlocked(bench))
  }

  private func list(_ bench: Bench) async throws -> ConversionList {
    try await bench.reply(to: ListConversions(), user: "operator")
  }

  @Test func `A clock that is set ahead by an hour lets everything expire, and blocks nothing`() async throws {
    let bench = try await Bench(Self.rules)
    // The maintenance of a coordinator, which looks more often than that of the bench.
    let flow = ConversionFlow(
      Conversions(
        bench.rules, metrics: ConversionMetrics(MetricsRegistry()), logger: Logger(label: "test", sink: bench.logs)),
      startedAt: bench.clock.now()
    ) { true }
    try await flow.begin(bench.store, at: bench.clock.now())
    try await start(bench)
    bench.clock.advance(by: .seconds(3600))
    for task in flow.tasks { _ = try await task.run(bench.store, bench.clock.now()) }
    await bench.maintenance.tidy()
    #expect(bench.registry.render().contains(#"countersign_verifications_total{event="expired"} 3"#))
    #expect(try await !isBlocked(bench))
  }
}
