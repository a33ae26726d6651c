import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct FindTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  private func page(_ command: FindVerifications) async throws -> VerificationsFound {
    try await bench.reply(to: command, user: Topology.Users.operator)
  }

  private func find(
    _ number: String = Bench.number, since: UnixTime? = nil
  ) async throws -> [VerificationsFound.Verification] {
    let found = try await page(FindVerifications(phoneNumber: number, since: since))
    #expect(found.next == nil && found.retentionSeconds == 86_400)
    return found.verifications
  }

  private func reason(_ detail: String) -> JobResult.Reason { .init(code: "UNKNOWN_NUMBER", detail: detail) }

  @Test func `Live and ended ones of every app are found, the latest first, with what became of their SMS`()
    async throws
  {
    let first = try await bench.begin()
    let began = bench.clock.now()
    await bench.deliverResults([
      try bench.result("\(first.id).sms.1", .refused, reason: reason("\(Bench.number) is unknown"))
    ])
    bench.clock.advance(by: .seconds(60))
    let second = try await bench.begin()
    await bench.deliverResults([try bench.result("\(second.id).sms.1", .accepted)])
    _ = try await bench.check(second.id, second.code)
    bench.clock.advance(by: .seconds(60))
    let third = try await bench.start(purpose: .secondFactorSignIn, subject: "account")
    _ = try await bench.start("+14155550124")

    let found = try await find()
    #expect(found.map(\.verificationID) == [third.verificationID, second.id, first.id])
    #expect(found.map(\.state) == [.sending, .approved, .failed])
    #expect(found.map(\.purpose) == [.secondFactorSignIn, nil, nil])
    #expect(found.map(\.sms?.event) == ["sms.queued", "sms.accepted", "sms.refused"])
    #expect(found.map(\.startedAt) == [began + .seconds(120), began + .seconds(60), began])
    #expect(found[1].sms?.lane == "twilio-eu" && found[1].sms?.reference == "SM1" && found[1].reason == nil)
    #expect(found[2].reason == "UNKNOWN_NUMBER" && found[2].sms?.reason == "UNKNOWN_NUMBER")
    #expect(found.allSatisfy { $0.app == Bench.app && !$0.testNumber })
  }

  @Test func `Neither code nor number is in the answer or in the log`() async throws {
    let (id, code) = try await bench.begin()
    await bench.deliverResults([
      try bench.result("\(id).sms.1", .refused, reason: reason("\(Bench.number) is unknown"))
    ])
    for number in [Bench.number, "+1 415 555 0123"] {
      let reply = try await bench.ask(FindVerifications(phoneNumber: number), user: Topology.Users.operator)
      let body = String(decoding: reply.body, as: UTF8.self)
      #expect(body.contains(id) && !body.contains("4155550123") && !body.contains(code))
    }
    #expect(bench.logs.lines().allSatisfy { !$0.contains("4155550123") })
  }

  @Test func `Those that began before a time are left out`() async throws {
    let old = try await bench.begin().id
    bench.clock.advance(by: .seconds(600))
    let since = bench.clock.now()
    let new = try await bench.begin().id
    #expect(try await find(since: since).map(\.verificationID) == [new])
    #expect(try await find(since: since + .milliseconds(1)).isEmpty)
    #expect(try await find(since: since - .seconds(600)).map(\.verificationID) == [new, old])
    #expect(try await find().map(\.state) == [.sending, .expired], "an expiry that nothing has processed yet")
  }

  @Test func `Each requester of a code has a row of its own, as its own status shows it`() async throws {
    let first = try await bench.start(requester: "a").verificationID
    bench.clock.advance(by: .seconds(10))
    let second = try await bench.start(requester: "b").verificationID
    _ = try await bench.ask(CancelVerification(verificationID: second))
    let found = try await find()
    #expect(found.map(\.verificationID) == [second, first])
    #expect(found.map(\.state) == [.canceled, .sending] && found.map(\.sms?.event) == [nil, "sms.queued"])
    #expect(try await find(since: found[0].startedAt).map(\.verificationID) == [second])
  }

  @Test func `A fictional number has pages, of which each fits a message, and which have all of them`() async throws {
    let count = StoreLimits.maxGroupPage + 50
    let commands = try (0..<count).map { index in
      try bench.message(StartVerification(phoneNumber: Bench.fictional, app: Bench.app, requester: "r\(index)"))
    }
    await bench.deliver(commands)
    var ids: [String] = []
    var command = FindVerifications(phoneNumber: Bench.fictional)
    var pages = 0
    repeat {
      let reply = try await page(command)
      #expect(try reply.json().count <= MessageLimits.maxBodyBytes)
      #expect(reply.verifications.allSatisfy { $0.testNumber && $0.state == .pending && $0.sms == nil })
      ids += reply.verifications.map(\.verificationID)
      command.after = reply.next
      pages += 1
    } while command.after != nil && pages < 10
    #expect(ids.count == count && Set(ids).count == count && pages > 1)
    // Records that are left out take no room, and the pages go on all the same.
    let late = try await page(FindVerifications(phoneNumber: Bench.fictional, since: bench.clock.now() + .seconds(1)))
    #expect(late.verifications.isEmpty && late.next != nil)
  }

  @Test func `Only operators find, and only numbers`() async throws {
    _ = try await bench.start()
    for user in ["service", "accounts", "gateway", "sms-worker", nil] {
      let error = try await bench.error(FindVerifications(phoneNumber: Bench.number), user: user)
      #expect(error.code == .operationNotAllowed, "\(user ?? "nobody")")
    }
    let user = Topology.Users.operator
    #expect(try await bench.error(FindVerifications(phoneNumber: ""), user: user).code == .missingPhoneNumber)
    for number in ["hello", "+1", "4155550123"] {
      #expect(try await bench.error(FindVerifications(phoneNumber: number), user: user).code == .invalidPhoneNumber)
    }
    for after in ["", String(repeating: "a", count: 10_000)] {
      let command = FindVerifications(phoneNumber: Bench.number, after: after)
      #expect(try await bench.error(command, user: user).code == .invalidArgument)
    }
    #expect(try await find("+14155550199").isEmpty)
  }

  @Test func `A look is no act, and what is no longer kept or was forgotten is not found`() async throws {
    _ = try await bench.start()
    #expect(try await find().count == 1)
    #expect(try await bench.count("act") == 0)
    _ = try await bench.ask(ForgetNumber(phoneNumber: Bench.number), user: Topology.Users.operator)
    #expect(try await find().isEmpty)
    _ = try await bench.start("+14155550125")
    bench.clock.advance(by: .seconds(300))
    await bench.maintenance.tidy()
    bench.clock.advance(by: .seconds(86_400))
    await bench.maintenance.tidy()
    #expect(try await find("+14155550125").isEmpty)
  }

  // MARK: Timeline

  private func check(_ id: String, _ code: String, user: String?) async throws -> Message {
    try await bench.ask(CheckVerification(id, code), user: user)
  }

  @Test func `The timeline says who checked the code`() async throws {
    let (id, code) = try await bench.begin()
    _ = try await check(id, Bench.wrong(code), user: "service")
    _ = try await check(id, code, user: Topology.Users.accounts)
    let entries = try await bench.status(id).timeline.suffix(2)
    #expect(entries.map(\.event) == ["check.wrong", "approved"])
    #expect(entries.map(\.by) == ["service", "accounts"])
  }

  @Test func `A check that decides nothing is in the timeline, each reason once`() async throws {
    let (id, code) = try await bench.begin()
    _ = try await check(id, code, user: "service")
    for _ in 0..<3 {
      _ = try await check(id, code, user: "service")
      _ = try await check(id, Bench.wrong(code), user: "other")
    }
    let used = try await bench.status(id).timeline.filter { $0.event == "check.refused" }
    #expect(used.map(\.reason) == ["CODE_USED", "SESSION_EXPIRED"] && used.map(\.by) == ["service", "other"])

    bench.clock.advance(by: .seconds(60))
    let late = try await bench.begin()
    bench.clock.advance(by: .seconds(301))
    for _ in 0..<3 { _ = try await check(late.id, late.code, user: "service") }
    let entries = try await bench.status(late.id).timeline
    #expect(entries.suffix(2).map(\.event) == ["expired", "check.refused"])
    #expect(entries.last?.reason == "SESSION_EXPIRED")
  }

  @Test func `A check that a limit refuses is in the timeline, and not counted against the code`() async throws {
    bench.rules.limits[.checksPerNumberPerHour] = 1
    let (id, code) = try await bench.begin()
    for _ in 0..<3 { _ = try await check(id, Bench.wrong(code), user: "service") }
    let entries = try await bench.status(id).timeline.suffix(2)
    #expect(entries.map(\.event) == ["check.wrong", "check.refused"])
    #expect(entries.last?.reason == "TOO_MANY_ATTEMPTS_TRY_LATER")
    bench.clock.advance(by: .seconds(299))
    bench.rules.limits[.checksPerNumberPerHour] = 10
    #expect(try await check(id, code, user: "service").type == "verification.approved.v1")
  }
}
