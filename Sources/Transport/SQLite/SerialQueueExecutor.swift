internal import Dispatch

/// Runs an actor's jobs on a serial queue of its own, which may block: SQLite waits for locks and for the disk.
final class SerialQueueExecutor: SerialExecutor {
  private let queue: DispatchQueue

  init(label: String) {
    queue = DispatchQueue(label: label)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }

  /// Runs a closure on the queue; it may enter the actor with `assumeIsolated`.
  func async(_ body: @escaping @Sendable () -> Void) {
    queue.async(execute: body)
  }
}
