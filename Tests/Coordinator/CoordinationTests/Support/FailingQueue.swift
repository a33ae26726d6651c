import CountersignAMQP
import CountersignTelemetry
import SQLite
import Synchronization

@testable import Coordination

/// A fault that the store has once.
final class OneFault: Sendable {
  private let isOver = Mutex(false)
  private let code: DatabaseError.Code
  private let meanwhile: @Sendable () -> Void

  /// - Parameter meanwhile: what happens while the store fails.
  init(_ code: DatabaseError.Code, meanwhile: @escaping @Sendable () -> Void) {
    self.code = code
    self.meanwhile = meanwhile
  }

  func strike() throws(DatabaseError) {
    let strikes = isOver.withLock { isOver in
      defer { isOver = true }
      return !isOver
    }
    guard strikes else { return }
    meanwhile()
    throw DatabaseError(code, "no store")
  }
}

/// Another's work, whose store has a fault.
struct FailingQueue<Inner: BatchQueue>: BatchQueue {
  let inner: Inner
  let fault: OneFault

  var queue: String { inner.queue }
  func sender(of message: Message) -> String { inner.sender(of: message) }

  func prepare(_ delivery: Delivery, at now: UnixTime) -> PreparedDelivery<Inner.Prepared> {
    inner.prepare(delivery, at: now)
  }

  func prepareAgain(_ delivery: Delivery, at now: UnixTime) -> PreparedDelivery<Inner.Prepared> {
    inner.prepareAgain(delivery, at: now)
  }

  func process(
    _ prepared: Inner.Prepared, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Conclusion {
    try fault.strike()
    return try inner.process(prepared, in: transaction)
  }

  func giveUp(_ prepared: Inner.Prepared, at now: UnixTime) -> Conclusion { inner.giveUp(prepared, at: now) }
  func crashed(_ delivery: Delivery, at now: UnixTime) -> Conclusion { inner.crashed(delivery, at: now) }
}
