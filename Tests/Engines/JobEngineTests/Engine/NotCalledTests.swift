import CountersignAMQP
import CountersignMessages
import HTTPClient
import Testing

@testable import JobEngine

/// Jobs for which no call was made, for reasons that are none of the lane's.
@Suite struct NotCalledTests {
  private let late = Reason("DEADLINE_TOO_NEAR", "Too little of the deadline is left.")
  /// More than the failures in a row that take a lane down.
  private let many = 1...25

  @Test(arguments: [Classification.NotCalled.tooLate, .impossible, .busy])
  func `Many in a row leave the lane up`(why: Classification.NotCalled) async throws {
    try await withWorker { worker in
      worker.handler.onCall { [late] _, _ in .notCalled(late, why) }
      for number in many { try await worker.process(job("job-\(number)")) }
      try await worker.ticker.tick()
      #expect(worker.problems.isEmpty)
      #expect(!worker.journal.contains(.paused))
      worker.handler.onCall { _, _ in .accepted(reference: "SM1") }
      try await worker.process(job("last"))
      #expect(worker.published(to: Topology.Exchanges.results).last?.message.messageID == "last.result")
    }
  }

  @Test func `A job that is too late for all lanes is expired`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [late] _, _ in .notCalled(late, .tooLate) }
      try await worker.process(job())
      let result = try worker.result()
      #expect(result.outcome == .expired)
      #expect(result.reason?.code == late.code)
      #expect(result.attempts == 0)
    }
  }

  @Test func `A job that is too late for one lane takes the next`()
    async throws
  {
    try await withWorker(lanes: [LaneConfiguration(name: "a"), LaneConfiguration(name: "b")]) { worker in
      worker.handler.onCall { [late] lane, _ in lane == "a" ? .notCalled(late, .tooLate) : .accepted(reference: "SM1") }
      try await worker.process(job(lanes: ["a", "b"]))
      #expect(try worker.result().lane == "b")
      #expect(try worker.result().attempts == 1)
    }
  }

  @Test func `A job that is too late for one lane waits for another that is down`() async throws {
    try await withWorker(lanes: [LaneConfiguration(name: "a"), LaneConfiguration(name: "b")]) { worker in
      worker.handler.onCall { [late] lane, _ in lane == "a" ? .notCalled(late, .tooLate) : .laneDown(late) }
      try await worker.process(job(lanes: ["a", "b"]))
      #expect(try worker.delayed().message.headers[MessageHeader.attempt] == nil)
    }
  }

  @Test func `A job that no lane can say is refused`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [late] _, _ in .notCalled(late, .impossible) }
      try await worker.process(job())
      #expect(try worker.result().outcome == .refused)
      #expect(try worker.result().attempts == 0)
    }
  }

  @Test func `A job without room waits uncounted`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [late] _, _ in .notCalled(late, .busy) }
      try await worker.process(job())
      let delayed = try worker.delayed()
      #expect(delayed.routingKey == RetryStep.fiveSeconds.rawValue)
      #expect(delayed.message.headers[MessageHeader.attempt] == nil)
    }
  }

  @Test func `A trial that was no call proves nothing`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { [late] _, _ in .laneDown(late) }
      try await worker.process(job("first"))
      try await worker.advance(until: "it takes a trial") { worker.journal.contains(.resumedOneByOne) }
      worker.handler.onCall { [late] _, _ in .notCalled(late, .tooLate) }
      for number in 1...3 { try await worker.process(job("late-\(number)")) }
      for _ in 0..<20 { try await worker.ticker.tick() }
      #expect(!worker.journal.contains(.resumed))
      worker.handler.onCall { _, _ in .accepted(reference: "SM1") }
      try await worker.process(job("trial"))
      try await worker.advance(until: "it resumes") { worker.journal.contains(.resumed) }
    }
  }

  @Test func `A transport says whether it called`() {
    func classification(_ kind: TransportError.Kind, mayHaveLeft: Bool = false) -> Classification {
      TransportError(kind: kind, requestMayHaveLeft: mayHaveLeft, description: "test").classification
    }
    func why(_ classification: Classification) -> Classification.NotCalled? {
      if case .notCalled(_, let why) = classification { why } else { nil }
    }
    #expect(why(classification(.invalidRequest)) == .impossible)
    #expect(why(classification(.overloaded)) == .busy)
    #expect(why(classification(.connect)) == nil, "a connection that fails is the lane's")
    #expect(why(classification(.receive, mayHaveLeft: true)) == nil)
  }
}
