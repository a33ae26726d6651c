public import Synchronization

/// The latest status of an actor or a queue, readable from any thread without waiting for it.
///
/// One writer, its owner: `value` is read and replaced as a whole.
public final class StatusBox<Status: Sendable>: Sendable {
  @usableFromInline let status: Mutex<Status>

  @inlinable public init(_ status: Status) { self.status = Mutex(status) }

  @inlinable public var value: Status {
    get { status.withLock { $0 } }
    set { status.withLock { $0 = newValue } }
  }
}
