import CountersignMessages
import CountersignTelemetry
import Synchronization

@testable import JobEngine

struct TestJob: Job, Hashable {
  static let type = MessageType("test.job")

  var deadline: UnixTime
  var lanes: [String]?
  var onUnknown: OnUnknown?
}

final class TestHandler: JobHandler {
  typealias Body = TestJob
  typealias Call = @Sendable (_ lane: String, _ attempt: JobAttempt) async -> Classification

  private struct Script {
    var call: Call = { _, _ in .accepted(reference: "ref-1") }
    var prepare: @Sendable (TestJob) -> Preparation<TestJob> = { .ready($0, TestHandler.facts($0)) }
    var lookUp: Call?
    var probe: ProbeResult = .cannotTell
  }

  private let script = Mutex(Script())
  private let journal: Journal

  init(_ journal: Journal) {
    self.journal = journal
  }

  static func facts(_ job: TestJob) -> JobFacts {
    JobFacts(lanes: job.lanes ?? ["a"], deadline: job.deadline, onUnknown: .sender(job.onUnknown))
  }

  func onCall(_ call: @escaping Call) { script.withLock { $0.call = call } }

  func waitInCalls(for gate: Gate) {
    onCall { _, _ in
      await gate.wait()
      return .accepted(reference: nil)
    }
  }

  func onPrepare(_ body: @escaping @Sendable (TestJob) -> Preparation<TestJob>) {
    script.withLock { $0.prepare = body }
  }

  func onLookUp(_ call: @escaping Call) { script.withLock { $0.lookUp = call } }

  func onProbe(_ result: ProbeResult) { script.withLock { $0.probe = result } }

  func prepare(_ body: TestJob, of message: JobMessage) -> Preparation<TestJob> {
    script.withLock { $0.prepare }(body)
  }

  func jobID(of body: TestJob, _ message: JobMessage) -> String { message.stageOf ?? message.messageID }

  func perform(_ job: TestJob, on lane: String, _ attempt: JobAttempt) async -> Classification {
    journal.add(.performed(attempt.jobID, lane: lane))
    return await script.withLock { $0.call }(lane, attempt)
  }

  func lookUp(_ job: TestJob, on lane: String, _ attempt: JobAttempt) async -> Classification? {
    await script.withLock { $0.lookUp }?(lane, attempt)
  }

  func probe(lane: String) async -> ProbeResult { script.withLock { $0.probe } }
}
