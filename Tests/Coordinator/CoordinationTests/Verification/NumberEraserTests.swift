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
  private func start(_ bench: Bench, _ count: Int) async throws {
    let commands = try (0..<count).map { index in
      try bench.message(
        StartVerification(phoneNumber: Bench.fictional, app: Bench.app, requester: "r\(index)"))
    }
    await bench.deliver(commands)
    #expect(try await bench.count("verification") == count)
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
