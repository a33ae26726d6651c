import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import SQLite
import TestSupport
import Testing

@testable import Coordination

/// Commands that come again after the process has died.
@Suite("Crashes")
struct CrashTests {
  private static func redelivered(_ message: Message) -> Delivery {
    var message = message
    message.headers["x-delivery-count"] = 4
    return Delivery(message: message, isRedelivered: true)
  }

  /// Leaves marks as processes do that die while they work on a message.
  ///
  /// The lock of each owner goes at once, as when the kernel closes it: no task holds it a moment longer.
  static func die(of delivery: Delivery, times: Int, _ bench: Bench) async throws {
    for time in 0...times {
      let store = try SQLiteMarkStore(in: bench.database)
      let marks = CrashMarks(
        queue: Topology.Queues.commands, store: DyingStore(store), stepsAtOnce: 1, gate: TrialGate(),
        clock: bench.clock,
        logger: Logger(label: "test", sink: bench.logs), metrics: bench.registry)
      await withTaskGroup(of: Void.self) { group in
        await marks.admit([delivery], spawn: { work in group.addTask { await work() } }) { step in
          #expect(step.treatment == (time == 0 ? .group : .alone))
          return []
        }
      }
      await store.close()
    }
  }

  static func marks(_ bench: Bench) throws -> CrashMarks {
    CrashMarks(
      queue: Topology.Queues.commands, store: try SQLiteMarkStore(in: bench.database), stepsAtOnce: 1,
      gate: TrialGate(), clock: bench.clock, logger: Logger(label: "test", sink: bench.logs), metrics: bench.registry)
  }

  @Test("A command that three processes died of is buried unread and answered, and the others are carried out")
  func aCommandThatThreeProcessesDiedOfIsBuriedUnreadAndAnswered() async throws {
    try await Bench.with { bench in
      let culprit = Self.redelivered(
        try bench.commandMessage(StartVerification(phoneNumber: "+14155550199", app: Bench.app)))
      let innocent = Self.redelivered(
        try bench.commandMessage(StartVerification(phoneNumber: Bench.number, app: Bench.app)))
      try await Self.die(of: culprit, times: 3, bench)
      let source = await bench.deliver([culprit, innocent], marks: try Self.marks(bench))
      #expect(source.ackedCount == 2)
      let dead = bench.sink.published.filter { $0.exchange == Topology.Exchanges.dead }
      #expect(dead.map(\.message.messageID) == [culprit.message.messageID])
      #expect(dead.first?.message.headers[MessageHeader.deadReason] == "CRASHED")
      let replies = bench.sink.published.filter { $0.exchange.isEmpty }.map(\.message)
      #expect(replies.map(\.type) == ["error.v1", "verification.started.v1"])
      let error = try ErrorReply(json: try #require(replies.first).body).error
      #expect(error.code == .internalError)
      #expect(replies.first?.correlationID == culprit.message.correlationID)
      // Whoever was settled leaves no mark.
      #expect(try await bench.count("crash_mark") == 0)
      #expect(try await bench.count("verification") == 1)
    }
  }

  @Test("Two deaths are not enough")
  func twoDeathsAreNotEnough() async throws {
    try await Bench.with { bench in
      let suspect = Self.redelivered(
        try bench.commandMessage(StartVerification(phoneNumber: Bench.number, app: Bench.app)))
      try await Self.die(of: suspect, times: 2, bench)
      await bench.deliver([suspect], marks: try Self.marks(bench))
      #expect(bench.sink.published.filter { $0.exchange == Topology.Exchanges.dead }.isEmpty)
      #expect(try await bench.count("verification") == 1)
    }
  }

  @Test("First deliveries are neither looked up nor marked")
  func firstDeliveries() async throws {
    try await Bench.with { bench in
      let store = DyingStore(try SQLiteMarkStore(in: bench.database))
      let marks = CrashMarks(
        queue: Topology.Queues.commands, store: store, stepsAtOnce: 1, gate: TrialGate(), clock: bench.clock,
        logger: Logger(label: "test", sink: bench.logs), metrics: bench.registry)
      let commands = try (0..<20).map {
        try bench.commandMessage(StartVerification(phoneNumber: "+141555501\($0 + 10)", app: Bench.app))
      }
      await bench.deliver(commands.map { Delivery(message: $0) }, marks: marks)
      #expect(try await bench.count("verification") == 20)
      #expect(store.calls == ["release", "close"])
    }
  }
}
