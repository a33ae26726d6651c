public import Synchronization

/// A value that is set once and awaited by one task.
///
/// The first value counts, whether it is set before or during the wait. Noncopyable: stored inside its owner, it needs
/// no allocation of its own.
public struct OneShot<Value: Sendable>: ~Copyable, Sendable {
  @usableFromInline enum State: Sendable {
    case open
    case waiting(CheckedContinuation<Value, Never>)
    case resolved(Value)
  }

  @usableFromInline let state = Mutex(State.open)

  @inlinable public init() {}

  /// Whether a value has been set.
  @inlinable public var isResolved: Bool {
    state.withLock { if case .resolved = $0 { true } else { false } }
  }

  /// Sets the value and resumes the waiting task.
  ///
  /// - Returns: whether this value is the one that counts; later ones are ignored.
  @inlinable
  @discardableResult
  public func resolve(_ value: Value) -> Bool {
    let (isFirst, waiter) = state.withLock { state -> (Bool, CheckedContinuation<Value, Never>?) in
      switch state {
      case .resolved: return (false, nil)
      case .open:
        state = .resolved(value)
        return (true, nil)
      case .waiting(let continuation):
        state = .resolved(value)
        return (true, continuation)
      }
    }
    waiter?.resume(returning: value)
    return isFirst
  }

  /// Waits for the value. Canceling the task does not end the wait. One task only.
  @inlinable public func value() async -> Value {
    await withCheckedContinuation { continuation in
      let value: Value? = state.withLock { state in
        switch state {
        case .resolved(let value): return value
        case .waiting: preconditionFailure("only one task may wait for the value")
        case .open:
          state = .waiting(continuation)
          return nil
        }
      }
      if let value { continuation.resume(returning: value) }
    }
  }
}
