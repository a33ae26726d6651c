internal import Synchronization

/// The connection's status, readable from anywhere.
final class StatusBox: Sendable {
  private let status = Mutex(ConnectionStatus(phase: .connecting, lastError: nil))

  var value: ConnectionStatus {
    get { status.withLock { $0 } }
    set { status.withLock { $0 = newValue } }
  }
}
