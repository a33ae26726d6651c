import CountersignAMQP
import CountersignMessages

/// Reads the queues of delayed jobs, oldest first.
///
/// The queues themselves are the only place that knows every delayed job: reports of delays are not sent for all of
/// them. Jobs are taken without acknowledgment, and return to their places when the connection closes. One whose delay
/// ends meanwhile goes on then. The broker publishes it to its work queue anew, so the worker does not see that it was
/// taken, and no crash is suspected.
struct DelayedJobs {
  /// They stay unacknowledged until the reading ends.
  static let maxTaken = 10_000

  let broker: any DeadQueue

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
        try await walk(queue, step, limit: limit - outcome.jobs.count) { job, left in
          if left.isFirst {
            outcome.queues.append(Queue(queue: queue, step: step, count: left.count + 1, oldest: job))
          }
          if outcome.jobs.count < limit { outcome.jobs.append(job) }
          return true
        }
      }
    }
    return outcome
  }

  /// Looks for a job among the ``maxTaken`` oldest of all queues. `nil` if it is not there.
  func find(_ id: String, in queues: [String]) async throws(CommandLineError) -> DelayedJob? {
    var found: DelayedJob?
    var left = Self.maxTaken
    for queue in queues {
      for step in RetryStep.allCases where found == nil && left > 0 {
        try await walk(queue, step, limit: left) { job, _ in
          left -= 1
          if job.id == id { found = job }
          return found == nil
        }
      }
    }
    return found
  }

  /// Takes at least one job, if there is one, and not those that arrive meanwhile.
  private func walk(
    _ queue: String, _ step: RetryStep, limit: Int, _ visit: (DelayedJob, (isFirst: Bool, count: Int)) -> Bool
  ) async throws(CommandLineError) {
    var (taken, count) = (0, 1)
    while taken < max(1, limit), count > 0 {
      guard let (delivery, remaining) = try await take(Topology.Queues.retry(queue, step)) else { return }
      count = taken == 0 ? remaining : min(count - 1, remaining)
      let job = DelayedJob(message: delivery.message, queue: queue)
      guard visit(job, (taken == 0, count)) else { return }
      taken += 1
    }
  }

  private func take(_ queue: String) async throws(CommandLineError) -> (delivery: Delivery, remaining: Int)? {
    do {
      return try await broker.take(from: queue)
    } catch {
      throw CommandLineError(error)
    }
  }
}
