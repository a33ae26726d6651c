public import Dispatch

/// Runs an actor on a serial queue of Dispatch.
///
/// Code isolated to the actor may block, and event sources and blocks of the queue may enter the actor with
/// `assumeIsolated`.
public final class SerialQueueExecutor: SerialExecutor {
  /// Queue the actor runs on.
  public let queue: DispatchQueue

  public init(label: String) { queue = DispatchQueue(label: label) }

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  public func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

extension Duration {
  /// Whole nanoseconds, clamped to the range of `Int64`.
  public var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    let (sum, carried) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    guard !carried else { return seconds < 0 ? .min : .max }
    return sum
  }

  /// Interval for a timer of Dispatch.
  public var dispatchInterval: DispatchTimeInterval { .nanoseconds(Int(clamping: nanoseconds)) }
}
