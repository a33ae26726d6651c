import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import Synchronization
import TestSupport
import Testing

@testable import JobEngine

@Suite struct CrashTests {
  /// A worker's marks in a file that outlives it.
  private static func marks(
    _ path: String, gate: TrialGate = TrialGate(), alone: Duration = CrashMarks.patience
  ) async throws -> CrashMarks {
    CrashMarks(
      queue: "test.job", store: try await RecordMarks.open(path: path), order: .any(stepsAtOnce: 4), gate: gate,
      trial: TrialPatience(alone: .lasting(alone)), clock: ManualClock(start),
      logger: Logger(label: "marks", sink: MemorySink()), metrics: MetricsRegistry())
  }

  /// As a worker that dies while it works on a job for the first redelivery, and then on the job alone so many times.
  private static func die(of message: Message, times: Int, _ path: String) async throws {
    for _ in 0...times {
      let store = try await RecordMarks.open(path: path)
      let key = MessageKey(Delivery(message: message), queue: "test.job")
      let standing = try await store.find([key])[key] ?? MarkStanding()
      try await store.write(
        [NewMark(key: key, standing: standing, isAlone: MarkPlan.treatment(standing) == .alone)], at: start)
      await store.close()
    }
  }

  @Test func `A job that three workers died of is buried unread and its sender told unknown`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory + "/marks.sqlite"
      let culprit = try job("culprit", replyTo: "amq.gen-sender")
      try await Self.die(of: culprit, times: 3, path)
      try await withWorker(marks: try await Self.marks(path)) { worker in
        let buried = try await worker.process(culprit, isRedelivered: true)
        try await worker.process(job("innocent"), isRedelivered: true)
        #expect(worker.journal.contains(.acked(buried)))
        let dead = worker.published(to: Topology.Exchanges.dead)
        #expect(dead.map(\.message.messageID) == ["culprit"])
        #expect(dead.first?.message.headers[MessageHeader.deadReason] == "CRASHED")
        let told = try JobResult(json: try #require(worker.published(to: "").first).message.body)
        #expect(told.outcome == .unknown)
        #expect(told.reason?.code == "CRASHED")
        #expect(!worker.journal.contains(.performed("culprit", lane: "a")))
        #expect(worker.journal.contains(.performed("innocent", lane: "a")))
      }
    }
  }

  @Test func `Without a ledger a job that only waited beside a culprit is not counted as begun again`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory + "/marks.sqlite"
      try await withWorker(ledger: NoLedger(), marks: try await Self.marks(path)) { worker in
        // The broker has seen nine crashes, but it was marked in none of them.
        try await worker.process(
          job("waited", onUnknown: .resend, headers: ["x-delivery-count": 9]), isRedelivered: true)
        #expect(worker.journal.contains(.performed("waited", lane: "a")))
      }
      let message = try job("begun", onUnknown: .resend, headers: ["x-delivery-count": 9])
      try await Self.die(of: message, times: 1, path)
      try await withWorker(ledger: NoLedger(), marks: try await Self.marks(path)) { worker in
        try await worker.process(message, isRedelivered: true)
        #expect(!worker.journal.contains(.performed("begun", lane: "a")))
        #expect(try worker.result().outcome == .unknown)
      }
    }
  }

  @Test func `Without any file the twentieth delivery is the last`()
    async throws
  {
    try await withWorker(ledger: NoLedger()) { worker in
      try await worker.process(job("last", headers: ["x-delivery-count": 19]), isRedelivered: true)
      #expect(worker.published(to: Topology.Exchanges.dead).map(\.message.messageID) == ["last"])
      try await worker.process(job("before", headers: ["x-delivery-count": 18]), isRedelivered: true)
      #expect(worker.published(to: Topology.Exchanges.dead).count == 1)
    }
  }

  @Test func `Handed back messages keep their mark`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory + "/marks.sqlite"
      let message = try job("back")
      try await withWorker(marks: try await Self.marks(path)) { worker in
        worker.sink.fail(AMQPError(.closed, "the publisher was stopped"))
        let number = try await worker.process(message, isRedelivered: true)
        #expect(worker.journal.contains(.rejected(number, requeue: true)))
      }
      let store = try await RecordMarks.open(path: path)
      let key = MessageKey(Delivery(message: message), queue: "test.job")
      let standing = try await store.find([key])[key]
      #expect(standing?.begun == 1)
      #expect(standing?.isSuspect == false)
      await store.close()
    }
  }

  @Test func `First deliveries are carried out between two trials`()
    async throws
  {
    try await withTemporaryDirectory { directory in
      let path = directory + "/marks.sqlite"
      let suspects = try ["suspect-1", "suspect-2"].map { try job($0) }
      for suspect in suspects { try await Self.die(of: suspect, times: 0, path) }
      let trials = [Gate(), Gate()]
      let began = Mutex(0)
      // A busy machine may take its time over a trial.
      try await withWorker(marks: try await Self.marks(path, alone: .seconds(600))) { worker in
        worker.handler.onCall { _, attempt in
          if attempt.jobID != "new" {
            let number = began.withLock { count in
              defer { count += 1 }
              return count
            }
            await trials[number].wait()
          }
          return .accepted(reference: nil)
        }
        for suspect in suspects { worker.deliver(suspect, isRedelivered: true) }
        try await eventually("the first trial") { began.withLock { $0 } == 1 }
        let number = worker.deliver(try job("new"))
        for _ in 0..<100 { await Task.yield() }
        #expect(!worker.wasSettled(number))
        trials[0].open()
        try await eventually("the new job is carried out, or the second trial has begun") {
          worker.wasSettled(number) || began.withLock { $0 } == 2
        }
        #expect(worker.wasSettled(number))
        trials[1].open()
        try await eventually("the suspects are settled") { worker.worker.jobsInFlight == 0 }
      }
    }
  }

  @Test(arguments: [([1], 4), ([64], 4), ([65], 5), ([64, 512], 36)])
  func `As many redelivered jobs as slots`(concurrency: [Int], groups: Int) {
    let lanes = concurrency.map { LaneConfiguration(name: "a", concurrency: $0) }
    #expect(MarkedJobs.groupsAtOnce(lanes) == groups)
  }

  @Test func `The slowest call is waited for before a trial`() {
    let lanes = [LaneConfiguration(name: "a"), LaneConfiguration(name: "b", callTimeout: .seconds(120))]
    #expect(MarkedJobs.quietPatience([lanes[0]], JobRules()) == .seconds(90))
    #expect(MarkedJobs.quietPatience(lanes, JobRules()) == .seconds(200))
  }

  @Test func `Trials do not wait for ended work`() async throws {
    try await withTemporaryDirectory { directory in
      let gate = TrialGate()
      let marks = try await Self.marks(directory + "/marks.sqlite", gate: gate)
      try await withWorker(marks: marks) { worker in
        try await worker.process(job())
        // All that was begun has left.
        await gate.enter()
        gate.leave()
        #expect(worker.worker.jobsInFlight == 0)
      }
    }
  }
}
