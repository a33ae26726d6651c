import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite
import Testing

@testable import Coordination

@Suite("Codes that nobody could give back")
struct ConversionExcuseTests {
  private static let rules = Bench.rules { rules in
    rules.conversion.minimumPerPrefix = 3
    rules.conversion.minimumPerRegion = 5
    rules.maxCommandAge = .seconds(3600)
    rules.limits.sendsPerPrefixPer10Minutes = 100
  }

  private func number(_ index: Int) -> String { "+1415555\(1_000 + index)" }

  /// Starts verifications whose commands waited for so long, and has their messages sent.
  private func start(_ bench: Bench, waited: Duration = .zero) async throws {
    let sentAt = bench.clock.now()
    bench.clock.advance(by: waited)
    for index in 0..<3 {
      let reply = try await bench.ask(StartVerification(phoneNumber: number(index), app: Bench.app), sentAt: sentAt)
      let id = try VerificationStarted(json: reply.body).verificationID
      await bench.deliverResults([try bench.result("\(id).sms.1", .accepted)])
    }
  }

  /// As the maintenance does once a second.
  private func tidy(_ bench: Bench) async throws {
    try await bench.conversionSweeper.listen()
    _ = try await bench.sweeper.sweep()
    _ = try await bench.conversionSweeper.sweep()
  }

  /// Whether the prefix is blocked, now and after a restart.
  private func isBlocked(_ bench: Bench) async throws -> Bool {
    let command = StartVerification(phoneNumber: number(7), app: Bench.app)
    let now = try await bench.ask(command).type == "error.v1"
    try await bench.restart()
    let later = try await bench.ask(command).type == "error.v1"
    #expect(now == later)
    return now
  }

  @Test(
    "A verification requested long before its SMS was sent does not count",
    arguments: [(10_999, true), (11_999, false)])
  func aVerificationRequestedLongBeforeItsSMSWasSentDoesNotCount(milliseconds: Int, isBlocked: Bool) async throws {
    try await Bench.with(Self.rules) { bench in
      try await start(bench, waited: .milliseconds(milliseconds))
      bench.clock.advance(by: .seconds(300))
      try await tidy(bench)
      #expect(try await self.isBlocked(bench) == isBlocked)
    }
  }

  @Test("Codes of late commands that do come back count, and so do wrong ones")
  func lateAndVerified() {
    func outcome(_ state: VerificationState, late: Bool) -> ConversionEnding.Outcome? {
      ConversionEnding.Outcome(state: state, failureCode: nil, messages: [.accepted], askedLate: late)
    }
    #expect(outcome(.approved, late: true) == .verified && outcome(.failed, late: true) == .failed)
    #expect(outcome(.expired, late: true) == nil && outcome(.expired, late: false) == .expired)
  }

  @Test("A start that waited before its assessment is late after it as well")
  func aStartThatWaitedBeforeItsAssessmentIsLateAfterItAsWell() async throws {
    try await Bench.with(Self.rules) { bench in
      let command = bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp)
      let sentAt = bench.clock.now() - .seconds(60)
      await bench.deliver([try bench.commandMessage(command, sentAt: sentAt)])
      let job = try #require(try bench.published(RecaptchaAssessJob.self).first)
      await bench.deliverResults([try bench.report(RecaptchaAssessJob.self, job.id, .accepted)])
      #expect(try await bench.dump("verification").contains("|1|signIn|"))
    }
  }

  @Test("While the database takes nothing nobody can give a code back")
  func whileTheDatabaseTakesNothingNobodyCanGiveACodeBack() async throws {
    try await Bench.with(Self.rules) { bench in
      try await start(bench)
      try await tidy(bench)
      // The disk is full: the outage cannot be stored either.
      bench.health.failed(DatabaseError(.diskFull, "the disk is full"), Topology.Queues.commands)
      try await rename("conversion_outage", "away", bench)
      bench.clock.advance(by: .seconds(250))
      await #expect(throws: DatabaseError.self) { try await bench.conversionSweeper.listen() }
      // It takes something again, and a command comes before the maintenance looks.
      bench.clock.advance(by: .seconds(50))
      try await rename("away", "conversion_outage", bench)
      bench.health.succeeded(Topology.Queues.commands)
      try await tidy(bench)
      #expect(try await bench.count("conversion_outage") == 1)
      #expect(try await bench.count("verification WHERE state = 'expired'") == 3)
      #expect(try await !isBlocked(bench))
    }
  }

  private func rename(_ table: String, _ name: String, _ bench: Bench) async throws {
    try await bench.database.write { session throws(DatabaseError) -> Void in
      try session.execute("ALTER TABLE \(table) RENAME TO \(name)")
    }
  }

  @Test("A clock that is set ahead by an hour lets everything expire, and blocks nothing")
  func aClockThatIsSetAheadByAnHourLetsEverythingExpireAndBlocks() async throws {
    try await Bench.with(Self.rules) { bench in
      bench.longestSilence = ConversionOutages.longestSilence
      try await tidy(bench)
      try await start(bench)
      bench.clock.advance(by: .seconds(3600))
      try await tidy(bench)
      #expect(try await bench.count("verification WHERE state = 'expired'") == 3)
      #expect(try await !isBlocked(bench))
    }
  }
}
