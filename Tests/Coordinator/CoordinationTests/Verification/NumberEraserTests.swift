import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct NumberEraserTests {
  private func forget(_ bench: Bench, _ number: String) async throws -> NumberForgotten {
    try NumberForgotten(json: try await bench.ask(ForgetNumber(phoneNumber: number), user: "operator").body)
  }

  /// Starts verifications of the fictional number, each of a requester of its own.
  private func start(_ bench: Bench, _ count: Int, from first: Int = 0) async throws {
    let commands = try (first..<first + count).map { index in
      try bench.message(
        StartVerification(phoneNumber: Bench.fictional, app: Bench.app, requester: "r\(index)"))
    }
    await bench.deliver(commands)
    #expect(try await bench.count("verification") == first + count)
  }

  @Test func `They go page by page; each running verification is told of`() async throws {
    let bench = try await Bench()
    try await start(bench, 600)
    let other = try await bench.start()
    let forgotten = try await forget(bench, Bench.fictional)
    #expect(forgotten.verifications == 600 && forgotten.canceled == 600 && forgotten.replies == 600)
    // Those of the first pages wait for the reply.
    bench.clock.advance(by: .seconds(30))
    while try await bench.relay() {}
    let events = bench.events()
    #expect(Set(bench.eventIDs()).count == 600 && events.allSatisfy { $0 == "verification.canceled" })
    #expect(try await bench.count("verification") == 1)
    #expect(try await bench.count("held") == 0)
    #expect(try await bench.store.count(VerificationRecords.number) == 1)
    #expect(bench.metrics.liveVerifications.value == 1)
    #expect(try await bench.status(other.verificationID).state == .sending)
    #expect(try await forget(bench, Bench.fictional).verifications == 0)
  }

  @Test func `An erasure may take longer than other work before a transaction`() async throws {
    let bench = try await Bench()
    let kind = try #require(bench.context.registry.commands[ForgetNumber.type])
    let envelope = Envelope(type: ForgetNumber.type, messageID: "m", userID: "operator")
    let order = try kind.read(
      envelope, try ForgetNumber(phoneNumber: Bench.number).json(), bench.clock.now(), [:])
    #expect(order.stage?.longest == NumberEraser.longest && NumberEraser.longest > CommandStage.longest)
  }

  // MARK: For accounts

  private func command(before time: UnixTime, apps: [String] = [Bench.app]) -> ForgetNumber {
    var command = ForgetNumber(phoneNumber: Bench.fictional)
    (command.startedBefore, command.apps, command.keepsLimits) = (time, apps, true)
    return command
  }

  @Test func `What is younger than the deletion stays, page by page, and so do the counters`() async throws {
    let bench = try await Bench()
    try await start(bench, 600)
    bench.clock.advance(by: .seconds(1))
    let deletedAt = bench.clock.now()
    try await start(bench, 600, from: 600)
    let other = try await bench.ask(command(before: deletedAt, apps: ["com.example.other"]), user: "accounts")
    #expect(try NumberForgotten(json: other.body).verifications == 0)
    let forgotten = try await bench.reply(to: command(before: deletedAt), user: "accounts")
    #expect(forgotten.verifications == 600 && forgotten.canceled == 600 && forgotten.counts == 0)
    #expect(try await bench.count("verification") == 600)
  }

  @Test func `Recorded replies stay: the number's next owner may need one`() async throws {
    let bench = try await Bench()
    try await start(bench, 2)
    bench.clock.advance(by: .seconds(1))
    let before = try await bench.count("inbox")
    let forgotten = try await bench.reply(to: command(before: bench.clock.now()), user: "accounts")
    #expect(forgotten.verifications == 2 && forgotten.replies == 0)
    #expect(try await bench.count("inbox") >= before)
    // An operator's erasure takes them.
    #expect(try await forget(bench, Bench.fictional).replies == 2)
  }

  @Test func `Requests of accounts that waited for the end of an outage erase as if in time, and once`() async throws {
    let bench = try await Bench()
    try await start(bench, 1)
    bench.clock.advance(by: .seconds(1))
    let deletedAt = bench.clock.now()
    bench.clock.advance(by: .seconds(7 * 86_400))
    // The number's next owner was faster than what has piled up.
    try await start(bench, 1, from: 1)
    let command = command(before: deletedAt)
    let piled = try [0, 90, 390].map { pause in
      try bench.message(command, id: "erasure.1", user: "accounts", sentAt: deletedAt + .seconds(pause))
    }
    _ = bench.sink.takePublished()
    await bench.deliver(piled)
    let replies = try bench.replies.map { try NumberForgotten(json: $0.body) }
    #expect(replies.map(\.verifications) == [1, 1, 1])
    #expect(bench.events() == ["verification.expired"])
    #expect(try await bench.count("verification") == 1)
    let again = try await bench.ask(command, id: "erasure.1", user: "accounts", sentAt: bench.clock.now())
    #expect(try NumberForgotten(json: again.body) == replies[0])
    #expect(try await bench.count("verification") == 1)
    // One under an ID of its own finds nothing, and is recorded all the same.
    for _ in 0..<2 {
      #expect(try await bench.reply(to: command, id: "erasure.2", user: "accounts").verifications == 0)
    }
  }

  @Test func `A project may get an app between two requests of accounts`() async throws {
    let bench = try await Bench()
    try await start(bench, 1)
    bench.clock.advance(by: .seconds(1))
    let before = bench.clock.now()
    let first = try await bench.ask(command(before: before), id: "erasure.1", user: "accounts")
    let more = command(before: before, apps: [Bench.app, Bench.pushApp])
    let again = try await bench.ask(more, id: "erasure.1", user: "accounts")
    #expect(try NumberForgotten(json: first.body).verifications == 1)
    #expect(try NumberForgotten(json: again.body) == NumberForgotten(json: first.body))
    let later = try await bench.ask(command(before: bench.clock.now() + .seconds(1)), id: "erasure.1", user: "accounts")
    #expect(try ErrorReply(json: later.body).error.reason == "MESSAGE_ID_REUSED")
  }

  @Test func `What began after a command was sent stays, whatever it says`() async throws {
    let bench = try await Bench()
    try await start(bench, 1)
    let sentAt = bench.clock.now()
    bench.clock.advance(by: .seconds(2))
    try await start(bench, 1, from: 1)
    let reply = try await bench.ask(command(before: .init(milliseconds: .max)), user: "accounts", sentAt: sentAt)
    #expect(try NumberForgotten(json: reply.body).verifications == 1)
    #expect(try await bench.count("verification") == 1)
  }

  @Test func `Waiting starts of other apps hide none of its own`() async throws {
    let bench = try await Bench()
    for (app, count) in [(Bench.pushApp, StoreLimits.maxGroupPage), (Bench.recaptchaApp, 50)] {
      let commands = try (0..<count).map { index in
        try bench.message(
          bench.startCommand(
            Bench.captcha("\(app) \(index)"), app: app, ip: "203.0.\(index / 200).\(index % 200)"))
      }
      await bench.deliver(commands)
    }
    #expect(try await bench.count("assessment") == StoreLimits.maxGroupPage + 50)
    bench.clock.advance(by: .seconds(1))
    var command = command(before: bench.clock.now(), apps: [Bench.recaptchaApp])
    command.phoneNumber = Bench.number
    #expect(try await bench.reply(to: command, user: "accounts").waiting == 50)
    #expect(try await bench.count("assessment") == StoreLimits.maxGroupPage)
  }

  @Test func `Accounts may forget no more than that, and others nothing`() async throws {
    let bench = try await Bench()
    var wide = [ForgetNumber(phoneNumber: Bench.fictional)]
    for index in 0..<3 {
      var narrow = command(before: bench.clock.now())
      if index == 0 { narrow.startedBefore = nil }
      if index == 1 { narrow.apps = nil }
      if index == 2 { narrow.keepsLimits = false }
      wide.append(narrow)
    }
    for command in wide {
      #expect(try await bench.error(command, user: "accounts").code == .operationNotAllowed)
    }
    for user in ["service", "gateway"] {
      #expect(try await bench.error(command(before: bench.clock.now()), user: user).code == .operationNotAllowed)
    }
    let apps = Array(repeating: Bench.app, count: 201)
    #expect(try await bench.error(command(before: bench.clock.now(), apps: apps), user: "accounts").field == "apps")
  }

  @Test func `One that cannot be read goes as well`() async throws {
    let bench = try await Bench()
    try await start(bench, 2)
    try await bench.damage("verification")
    let forgotten = try await forget(bench, Bench.fictional)
    #expect(forgotten.verifications == 2 && forgotten.canceled == 0)
    #expect(try await bench.count("verification") == 0)
    #expect(try await bench.start(Bench.fictional).testNumber)
  }
}
