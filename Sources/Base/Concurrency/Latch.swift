import Dispatch
import Synchronization

/// A latch that opens once and lets all waiting tasks go on.
public final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var nextID: UInt64 = 0
    var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
  }

  private static let timeouts = DispatchQueue(label: "countersign.latch")
  private let state = Mutex(State())

  public init() {}

  public var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Opens the latch. Opening it again does nothing.
  public func open() {
    let waiters = state.withLock { state in
      state.isOpen = true
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters { waiter.resume(returning: true) }
  }

  /// Waits until the latch is open, the task is canceled or `limit` is over.
  ///
  /// - Returns: whether the latch is open.
  @discardableResult
  public func wait(atMost limit: Duration? = nil) async -> Bool {
    let id = makeID()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard enter(id, continuation, isCancelable: true), let limit else { return }
        // Armed last: a limit that ended before the waiter was registered would miss it, and the wait would last for
        // ever.
        Self.timeouts.asyncAfter(deadline: .now() + limit.dispatchInterval) { [weak self] in self?.giveUp(id) }
      }
    } onCancel: {
      giveUp(id)
    }
  }

  /// Waits until the latch is open. Canceling the task does not end the wait.
  public func waitIgnoringCancellation() async {
    let id = makeID()
    _ = await withCheckedContinuation { _ = enter(id, $0, isCancelable: false) }
  }

  /// Runs work, and cancels it when the latch opens or the task is canceled. Returns when the work has ended.
  public func cancelingWhenOpen(_ work: @escaping @Sendable () async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await work() }
      group.addTask { await self.wait() }
      await group.next()
      group.cancelAll()
    }
  }

  private func makeID() -> UInt64 {
    state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
  }

  private func enter(_ id: UInt64, _ continuation: CheckedContinuation<Bool, Never>, isCancelable: Bool) -> Bool {
    let isOpen: Bool? = state.withLock { state in
      if state.isOpen { return true }
      if isCancelable, Task.isCancelled { return false }
      state.waiters[id] = continuation
      return nil
    }
    if let isOpen { continuation.resume(returning: isOpen) }
    return isOpen == nil
  }

  private func giveUp(_ id: UInt64) {
    state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: false)
  }
}
