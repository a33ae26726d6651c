import CountersignAMQP
import CountersignEncoding
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import CommandLine

/// Queues of delayed jobs in memory.
final class FakeDelayedQueues: DelayedQueues {
  private let queues: [String: [Message]]
  /// Queues of which jobs were held, and how many.
  let looks = Mutex<[String]>([])

  init(_ queues: [String: [Message]]) { self.queues = queues }

  func count(_ queue: String) async throws(AMQPError) -> Int { queues[queue]?.count ?? 0 }

  func first(_ count: Int, of queue: String) async throws(AMQPError) -> [Message] {
    looks.withLock { $0.append("\(count) of \(queue)") }
    return Array((queues[queue] ?? []).prefix(count))
  }
}

@Suite struct JobsCommandTests {
  static let queue = "countersign.retry.sms.dispatch.30s"

  static func job(_ id: String, attempt: Int64? = 2) -> Message {
    var headers: [String: FieldValue] = [
      "x-last-error": "RATE_LIMITED: Twilio answered 429", "x-next-attempt-at": "2026-07-01T12:00:30Z",
      "x-own": "654321",
    ]
    if let attempt {
      headers["x-attempt"] = .int(attempt)
      headers["x-first-attempt-at"] = "2026-07-01T11:59:00Z"
    }
    var message = Message(
      headers: headers, messageID: id, type: "sms.dispatch.v1", body: Array(RedactedJSONTests.body.utf8))
    message.timestamp = 1_782_907_000
    return message
  }

  static func backend(_ jobs: [Message]) -> FakeBackend { FakeBackend(delayed: [queue: jobs]) }

  @Test func `Delayed jobs are listed with their error and their next attempt`() async throws {
    let backend = Self.backend([Self.job("a"), Self.job("b", attempt: nil)])
    let run = await Run(backend, "jobs", "list")
    #expect(run.code == .success, "\(run.error)")
    let lines = run.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    #expect(
      lines == [
        "QUEUE DELAY JOBS OLDEST SINCE NEXT ATTEMPT", "sms.dispatch 30s 2 2026-07-01T11:59:00Z 2026-07-01T12:00:30Z",
        "ID QUEUE SINCE ATTEMPTS NEXT ATTEMPT LAST ERROR",
        "a sms.dispatch 2026-07-01T11:59:00Z 1 2026-07-01T12:00:30Z RATE_LIMITED: Twilio answered 429",
        "b sms.dispatch 2026-07-01T11:56:40Z 0 2026-07-01T12:00:30Z RATE_LIMITED: Twilio answered 429",
      ])
    #expect(backend.delayed.looks.withLock { $0 } == ["2 of \(Self.queue)"])
    #expect(backend.dead.published.isEmpty)
  }

  /// Jobs that are taken return behind those returned before, so a part of a queue would be out of order.
  @Test func `A look holds all of a queue, and nothing of one that is empty or too full`() async throws {
    let queues = ["5s", "30s", "1h"].map { "countersign.retry.sms.dispatch.\($0)" }
    let jobs = (1...20).map { Self.job("\($0)") }
    let many = [Message](repeating: Self.job("x"), count: DelayedJobs.maxTaken + 1)
    let backend = FakeBackend(delayed: [queues[0]: jobs, queues[1]: many, queues[2]: jobs])
    let run = await Run(backend, "jobs", "list", "--limit", "12", "--json")
    #expect(run.code == .success, "\(run.error)")
    #expect(backend.delayed.looks.withLock { $0 } == ["20 of \(queues[0])", "20 of \(queues[2])"])
    let output = try JSONValue(parsing: run.output)
    #expect(output["count"] == .integer(Int64(40 + many.count)))
    guard case .array(let shown)? = output["jobs"] else {
      Issue.record("no jobs")
      return
    }
    #expect(shown.map { $0["id"]?.text } == (1...12).map { "\($0)" })
  }

  @Test func `A job is looked for until it is found`() async {
    let queues = ["5s", "30s", "1h"].map { "countersign.retry.sms.dispatch.\($0)" }
    let backend = FakeBackend(
      delayed: [queues[0]: [Self.job("a")], queues[1]: [Self.job("b"), Self.job("c")], queues[2]: [Self.job("d")]])
    #expect(await Run(backend, "jobs", "show", "b").code == .success)
    #expect(backend.delayed.looks.withLock { $0 } == ["1 of \(queues[0])", "2 of \(queues[1])"])
  }

  @Test func `All are counted and as many are shown as asked for`() async throws {
    let run = await Run(Self.backend((1...5).map { Self.job("\($0)") }), "jobs", "list", "--limit", "2")
    #expect(run.output.hasSuffix("\nand 3 more; see --limit\n"))
    let json = await Run(Self.backend((1...5).map { Self.job("\($0)") }), "jobs", "list", "--limit", "2", "--json")
    let output = try JSONValue(parsing: json.output)
    #expect(output["count"] == 5)
    let other = await Run(Self.backend([Self.job("a")]), "jobs", "list", "--queue", "mail.relay")
    #expect(other.output == "no job is delayed\n")
    #expect(await Run(Self.backend([]), "jobs", "list", "--queue", "coordinator.commands").code == .usage)
  }

  @Test func `One is shown with possible secrets covered`() async {
    let run = await Run(Self.backend([Self.job("a"), Self.job("b")]), "jobs", "show", "b")
    #expect(run.code == .success, "\(run.error)")
    #expect(run.output.contains("RATE_LIMITED"))
    #expect(!run.output.contains("654321"))
    let revealed = await Run(Self.backend([Self.job("a"), Self.job("b")]), "jobs", "show", "b", "--reveal")
    #expect(revealed.output.contains("654321"))
    let unknown = await Run(Self.backend([Self.job("a")]), "jobs", "show", "c")
    #expect(unknown.code == .failure)
    #expect(unknown.error.contains("job c is not delayed"))
  }

  /// Whatever the headers hold: a worker's user may publish any.
  @Test func `A malformed job is listed`() async {
    let message = Message(
      headers: ["x-attempt": .int(.min), "x-next-attempt-at": 7, "x-first-attempt-at": "soon", "x-last-error": .null],
      body: [0xFF])
    let run = await Run(Self.backend([message]), "jobs", "list")
    #expect(run.code == .success)
    #expect(run.output.contains("sms.dispatch  -"))
  }
}
