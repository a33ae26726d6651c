import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import JobEngine

/// Deliveries whose connection is lost while they are worked on. The broker delivers them again, so nothing takes their place.
@Suite struct LostConnectionTests {
  private let busy = Reason("TOO_MANY_REQUESTS", "The provider is busy.")

  private func ended(_ worker: WorkerHarness) async throws {
    try await eventually("nothing is in flight") { worker.worker.jobsInFlight == 0 }
  }

  @Test func `A retry of a job that is delivered again is not published`() async throws {
    let gate = Gate()
    try await withWorker { worker in
      worker.handler.onCall { [busy] _, _ in
        await gate.wait()
        return .retry(busy)
      }
      worker.deliver(try job())
      try await eventually("the call began") { worker.journal.contains(.performed("job-1", lane: "a")) }
      worker.source.loseConnection()
      gate.open()
      try await ended(worker)
      #expect(worker.sink.tries == 0)
      // The claim was given back, so the one that is delivered again is carried out at once.
      try await worker.process(job(), isRedelivered: true)
      #expect(try worker.delayed().message.messageID == "job-1")
    }
  }

  @Test func `A retry that the broker has not taken is not tried again`()
    async throws
  {
    try await withWorker { worker in
      worker.handler.onCall { [busy] _, _ in .retry(busy) }
      worker.sink.answer { _ in .nacked }
      worker.deliver(try job())
      try await eventually("it was tried") { worker.sink.tries == 1 }
      worker.source.loseConnection()
      worker.sink.answer { _ in .confirmed }
      try await worker.advance(until: "it is over") { worker.worker.jobsInFlight == 0 }
      #expect(worker.sink.confirmed.isEmpty)
    }
  }

  @Test func `A job that another holds is not put off`() async throws {
    let ledger = MemoryLedger()
    _ = try await ledger.claim(claim(token: 7))
    try await withWorker(lanes: [LaneConfiguration(name: "a", concurrency: 1)], ledger: ledger) { worker in
      let gate = Gate()
      worker.handler.waitInCalls(for: gate)
      worker.deliver(try job("before"))
      try await eventually("the call began") { worker.journal.contains(.performed("before", lane: "a")) }
      worker.deliver(try job(), isRedelivered: true)
      worker.source.loseConnection()
      gate.open()
      try await ended(worker)
      // The result of the one that was carried out is published all the same.
      #expect(worker.sink.confirmed.map(\.exchange) == [Topology.Exchanges.results])
    }
  }

  @Test func `A dead letter is not buried twice`() async throws {
    try await withWorker { worker in
      worker.sink.answer { _ in .nacked }
      worker.deliver(Message(messageID: "broken", body: Array("no JSON".utf8)))
      try await eventually("it was tried") { worker.sink.tries == 1 }
      worker.source.loseConnection()
      worker.sink.answer { _ in .confirmed }
      try await worker.advance(until: "it is over") { worker.worker.jobsInFlight == 0 }
      #expect(worker.sink.confirmed.isEmpty)
      try await worker.process(Message(messageID: "broken", body: Array("no JSON".utf8)), isRedelivered: true)
      #expect(worker.published(to: Topology.Exchanges.dead).count == 1)
    }
  }

  @Test func `Without a ledgers memory a stop hands nothing back that the broker has`() async throws {
    let gate = Gate()
    try await withWorker(lanes: [LaneConfiguration(name: "a", concurrency: 1)], ledger: NoLedger()) { worker in
      worker.handler.waitInCalls(for: gate)
      worker.deliver(try job("begun"))
      try await eventually("the call began") { worker.journal.contains(.performed("begun", lane: "a")) }
      worker.deliver(try job("waiting"))
      try await eventually("it waits") { worker.worker.jobsInFlight == 2 }
      worker.source.loseConnection()
      async let stopped: Void = worker.worker.stop()
      try await eventually("it is handed back") { worker.worker.jobsInFlight == 1 }
      gate.open()
      await stopped
      #expect(worker.sink.confirmed.map(\.exchange) == [Topology.Exchanges.results])
    }
  }
}
