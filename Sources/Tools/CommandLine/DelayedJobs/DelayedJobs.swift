import CountersignAMQP
import CountersignMessages

/// Reads the queues of delayed jobs, oldest first.
///
/// The queues themselves are the only place that knows every delayed job: reports of delays are not sent for all of
/// them. Jobs are held for a moment, those of one queue at a time, and return to their places (``QueueLook``). One whose
/// delay ends meanwhile goes on then. The broker publishes it to its work queue anew, so the worker does not see that it
/// was taken, and no crash is suspected.
struct DelayedJobs {
  /// Held at once, and looked at in all.
  static let maxTaken = 10_000

  let broker: any DelayedQueues

  /// A queue of delayed jobs with at least one.
  struct Queue: Sendable {
    /// Work queue that its jobs return to.
    let queue: String
    let step: RetryStep
    let count: Int
    /// The next one to return.
    let oldest: DelayedJob
  }

  struct Outcome: Sendable {
    var queues: [Queue] = []
    var jobs: [DelayedJob] = []

    var count: Int { queues.reduce(0) { $0 + $1.count } }
  }

  /// Counts all queues, and takes jobs up to a limit. Of each queue, the oldest is taken in any case.
  func list(_ queues: [String], limit: Int) async throws(CommandLineError) -> Outcome {
    var outcome = Outcome()
    for queue in queues {
      for step in RetryStep.allCases {
        let left = limit - outcome.jobs.count
        let (count, jobs) = try await look(queue, step, limit: max(1, left))
        guard let oldest = jobs.first else { continue }
        outcome.queues.append(Queue(queue: queue, step: step, count: count, oldest: oldest))
        outcome.jobs += jobs.prefix(left)
      }
    }
    return outcome
  }

  /// Looks for a job among the ``maxTaken`` oldest of all queues. `nil` if it is not there.
  func find(_ id: String, in queues: [String]) async throws(CommandLineError) -> DelayedJob? {
    var left = Self.maxTaken
    for queue in queues {
      for step in RetryStep.allCases where left > 0 {
        let jobs = try await look(queue, step, limit: left).jobs
        if let found = jobs.first(where: { $0.id == id }) { return found }
        left -= jobs.count
      }
    }
    return nil
  }

  private func look(
    _ queue: String, _ step: RetryStep, limit: Int
  ) async throws(CommandLineError) -> (count: Int, jobs: [DelayedJob]) {
    let name = Topology.Queues.retry(queue, step)
    do {
      let count = try await broker.count(name)
      guard count > 0 else { return (0, []) }
      let messages = try await broker.first(min(limit, count), of: name)
      return (count, messages.map { DelayedJob(message: $0, queue: queue) })
    } catch {
      throw CommandLineError(error)
    }
  }
}
