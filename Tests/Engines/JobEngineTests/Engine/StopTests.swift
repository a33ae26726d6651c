import CountersignAMQP
import CountersignMessages
import TestSupport
import Testing

@testable import JobEngine

@Suite struct StopTests {
  @Test func `Begun jobs are finished and others handed back`() async throws {
    let gate = Gate()
    try await withWorker(lanes: [LaneConfiguration(name: "a", concurrency: 1)]) { worker in
      worker.handler.waitInCalls(for: gate)
      let begun = worker.deliver(try job("begun"))
      try await eventually("the call began") { worker.journal.contains(.performed("begun", lane: "a")) }
      let waiting = worker.deliver(try job("waiting"))
      try await eventually("it waits") { worker.worker.jobsInFlight == 2 }
      async let stopped: Void = worker.worker.stop()
      try await eventually("the consumer stopped") { worker.journal.contains(.stoppedConsuming) }
      let late = worker.deliver(try job("late"))
      #expect(worker.problems["jobs"] != nil)
      try await eventually("it is handed back") { worker.journal.contains(.rejected(waiting, requeue: true)) }
      #expect(!worker.journal.contains(.sinkStopped))
      gate.open()
      await stopped
      #expect(worker.journal.contains(.acked(begun)))
      #expect(!worker.journal.contains(.performed("late", lane: "a")) && !worker.journal.contains(.acked(late)))
      #expect(worker.journal.all.suffix(3) == [.sinkStopped, .sourceClosed, .ledgerClosed])
    }
  }

  @Test func `Without a ledgers memory it is handed back as a new message`() async throws {
    let gate = Gate()
    try await withWorker(
      lanes: [LaneConfiguration(name: "a", concurrency: 1)], ledger: NoLedger()
    ) { worker in
      worker.handler.waitInCalls(for: gate)
      worker.deliver(try job("begun"))
      try await eventually("the call began") { worker.journal.contains(.performed("begun", lane: "a")) }
      let waiting = worker.deliver(try job("waiting"))
      try await eventually("it waits") { worker.worker.jobsInFlight == 2 }
      async let stopped: Void = worker.worker.stop()
      try await eventually("it is handed back") { worker.journal.contains(.acked(waiting)) }
      #expect(try worker.delayed().message.messageID == "waiting")
      #expect(try worker.delayed().message.headers[MessageHeader.attempt] == nil)
      gate.open()
      await stopped
    }
  }

  @Test func `Without a ledgers memory what was begun does not go back as new`() async throws {
    try await withWorker(ledger: NoLedger()) { worker in
      worker.sink.answer { $0.exchange == Topology.Exchanges.results ? .nacked : .confirmed }
      let number = worker.deliver(try job())
      try await eventually("it was tried") { worker.sink.tries >= 1 }
      await worker.worker.stop()
      #expect(worker.journal.contains(.rejected(number, requeue: true)))
      #expect(worker.sink.confirmed.isEmpty)
    }
  }

  @Test func `A result that cannot be published does not keep a stop from ending`() async throws {
    try await withWorker { worker in
      worker.sink.answer { _ in .nacked }
      let number = worker.deliver(try job())
      try await eventually("it was tried") { worker.sink.tries >= 1 }
      await worker.worker.stop()
      #expect(worker.journal.contains(.rejected(number, requeue: true)))
      #expect(worker.journal.contains(.settled("job-1")), "its result is safe in the ledger")
    }
  }

  @Test func `Canceling its task ends it`() async throws {
    let journal = Journal()
    let harness = WorkerHarness(
      lanes: [LaneConfiguration(name: "a")], ledger: MemoryLedger(journal), journal: journal,
      clocks: ManualClocks(start),
      options: WorkerHarness.options)
    harness.handler.onCall { _, _ in
      await suspendUntilCanceled()
      return .unknown(Reason("CANCELED", "The call was canceled."))
    }
    let run = Task { await harness.worker.run() }
    harness.deliver(try job())
    try await eventually("the call began") { harness.performed == 1 }
    run.cancel()
    await run.value
    #expect(harness.journal.contains(.sourceClosed) && harness.journal.contains(.settled("job-1")))
  }

  @Test func `Stopped before it ran it does not run`() async throws {
    let journal = Journal()
    let harness = WorkerHarness(
      lanes: [LaneConfiguration(name: "a")], ledger: MemoryLedger(journal), journal: journal,
      clocks: ManualClocks(start),
      options: WorkerHarness.options)
    await harness.worker.stop()
    await harness.worker.run()
    #expect(harness.journal.all.isEmpty)
  }
}
