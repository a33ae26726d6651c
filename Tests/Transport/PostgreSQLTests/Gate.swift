import Dispatch
import Synchronization
import TestSupport

final class Gate: Sendable {
  private let missing: Mutex<Int>
  private let isOpen = DispatchSemaphore(value: 0)
  /// Of a test that fails, in seconds.
  private static let patience = Double(Duration.patience.components.seconds)

  init(_ count: Int) { missing = Mutex(count) }

  func arriveAndWait() {
    let isLast = missing.withLock { missing in
      missing -= 1
      return missing == 0
    }
    if isLast { isOpen.signal() }
    // Each one lets the next through.
    _ = isOpen.wait(timeout: .now() + Self.patience)
    isOpen.signal()
  }
}
