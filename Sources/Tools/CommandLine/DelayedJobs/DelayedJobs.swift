import CountersignAMQP
import CountersignMessages

/// Reads the queues of delayed jobs, oldest first.
///
/// The queues themselves are the only place that knows every delayed job: reports of delays are not sent for all of
/// them. Jobs are held for a moment, those of one queue at a time, and return to their places (``QueueLook``). One whose
/// delay ends meanwhile goes on then. The broker publishes it to its work queue anew, without the mark of a redelivery,
/// so no crash is suspected.
struct DelayedJobs {
  /// Jobs of a queue that is looked at. A fuller one is only counted: what is taken returns behind what was returned
  /// before, so all of a queue is taken, or nothing (RabbitMQ 3.10).
  static let maxTaken = 1000

  let broker: any DelayedQueues

  struct Queue: Sendable {
    /// Work queue that its jobs return to.
    let queue: String
    let step: RetryStep
    let count: Int
    /// The next one to return. `nil` in a queue that is only counted.
    let oldest: DelayedJob?
  }

  struct Outcome: Sendable {
    var queues: [Queue] = []
    var jobs: [DelayedJob] = []

    var count: Int { queues.reduce(0) { $0 + $1.count } }
  }

  /// Counts all queues, and has their jobs up to a limit.
  func list(_ queues: [String], limit: Int) async throws(CommandLineError) -> Outcome {
    var outcome = Outcome()
    for queue in queues {
      for step in RetryStep.allCases {
        let (count, jobs) = try await look(queue, step)
        guard count > 0 else { continue }
        outcome.queues.append(Queue(queue: queue, step: step, count: count, oldest: jobs.first))
        outcome.jobs += jobs.prefix(limit - outcome.jobs.count)
      }
    }
    return outcome
  }

  /// Looks for a job in all queues that have at most ``maxTaken``. `nil` if it is not there.
  func find(_ id: String, in queues: [String]) async throws(CommandLineError) -> DelayedJob? {
    for queue in queues {
      for step in RetryStep.allCases {
        if let found = try await look(queue, step).jobs.first(where: { $0.id == id }) { return found }
      }
    }
    return nil
  }

  private func look(
    _ queue: String, _ step: RetryStep
  ) async throws(CommandLineError) -> (count: Int, jobs: [DelayedJob]) {
    let name = Topology.Queues.retry(queue, step)
    do {
      let count = try await broker.count(name)
      guard (1...Self.maxTaken).contains(count) else { return (count, []) }
      let messages = try await broker.first(count, of: name)
      // The delays of all may have ended meanwhile.
      return (messages.isEmpty ? 0 : count, messages.map { DelayedJob(message: $0, queue: queue) })
    } catch {
      throw CommandLineError(error)
    }
  }
}
