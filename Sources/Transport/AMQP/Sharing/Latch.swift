internal import Dispatch
internal import Synchronization

/// Opens once; whoever waits for it goes on then.
final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var nextID: UInt64 = 0
    var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
  }

  private static let timeouts = DispatchQueue(label: "amqp.latch")
  private let state = Mutex(State())

  func open() {
    let waiters = state.withLock { state in
      state.isOpen = true
      return state.waiters.exchange([:]).values
    }
    for waiter in waiters { waiter.resume(returning: true) }
  }

  /// Waits, `atMost` if given, and not when the task is cancelled.
  ///
  /// - Returns: whether it is open.
  @discardableResult
  func wait(atMost limit: Duration? = nil) async -> Bool {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOpen: Bool? = state.withLock { state in
          if state.isOpen { return true }
          if Task.isCancelled { return false }
          state.waiters[id] = continuation
          return nil
        }
        if let isOpen { return continuation.resume(returning: isOpen) }
        // Only now: a limit that is over before the waiter stands in the list would pass it by, and it would wait for ever.
        if let limit {
          Self.timeouts.asyncAfter(deadline: .now() + limit.dispatchInterval) { [weak self] in self?.giveUp(id) }
        }
      }
    } onCancel: {
      giveUp(id)
    }
  }

  private func giveUp(_ id: UInt64) {
    state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: false)
  }
}

extension Dictionary {
  fileprivate mutating func exchange(_ other: Self) -> Self {
    defer { self = other }
    return self
  }
}
