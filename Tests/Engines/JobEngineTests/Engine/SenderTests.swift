import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import JobEngine

/// Whose job it is: by sender and ID, through delays, results and dead letters.
@Suite struct SenderTests {
  private func sent(_ id: String = "job-1", by user: String?, deadline: UnixTime = start + .seconds(600)) throws
    -> Message
  {
    var message = try job(id, deadline: deadline)
    message.userID = user
    return message
  }

  @Test func `The same ID of another sender is another job`() async throws {
    try await withWorker { worker in
      // It would take the place of the job that is to come.
      try await worker.process(sent(by: "service", deadline: start - .seconds(1)))
      try await worker.process(sent(by: "coordinator"))
      try await worker.process(sent(by: "coordinator", deadline: start + .seconds(900)), isRedelivered: true)
      let results = worker.published(to: Topology.Exchanges.results)
      #expect(results.map(\.routingKey) == ["test.job.expired", "test.job.accepted", "test.job.accepted"])
      #expect(results.map { $0.message.headers["x-sender"] } == ["service", "coordinator", "coordinator"])
      #expect(results.allSatisfy { $0.message.userID == "worker" })
      #expect(worker.journal.count(of: .performed("job-1", lane: "a")) == 1)
    }
  }

  @Test func `A delayed job keeps its sender`() async throws {
    try await withWorker { worker in
      worker.handler.onCall { _, _ in .retry(Reason("BUSY", "Busy.")) }
      try await worker.process(sent(by: "service"))
      let delayed = try worker.delayed().message
      #expect(delayed.userID == "worker" && delayed.headers["x-sender"] == "service")
      worker.handler.onCall { _, _ in .accepted(reference: "1") }
      try await worker.process(delayed)
      #expect(worker.published(to: Topology.Exchanges.results).last?.message.headers["x-sender"] == "service")
    }
  }

  @Test func `A forged sender is not believed`() async throws {
    try await withWorker { worker in
      var forged = try sent(by: "service")
      forged.headers["x-sender"] = "coordinator"
      try await worker.process(forged)
      #expect(worker.published(to: Topology.Exchanges.results).first?.message.headers["x-sender"] == "service")
    }
  }

  @Test(
    arguments: ["coordinator.results", "sms.dispatch", "countersign.reply.other.1", "accounts.replies"])
  func `A reply address of somebody else is buried before any call`(queue: String) async throws {
    try await withWorker { worker in
      for body in [try sent(by: "service").body, Array("{}".utf8)] {
        var message = try sent(by: "service")
        message.replyTo = queue
        message.body = body
        try await worker.process(message)
      }
      #expect(worker.sink.confirmed.map(\.exchange) == [Topology.Exchanges.dead, Topology.Exchanges.dead])
      #expect(worker.sink.confirmed.allSatisfy { $0.message.headers["x-dead-reason"] == "INVALID_REPLY_TO" })
      #expect(!worker.journal.contains(.performed("job-1", lane: "a")))
    }
  }
}
