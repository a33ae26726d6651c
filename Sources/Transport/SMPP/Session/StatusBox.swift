import Synchronization

/// The session's status, readable from anywhere.
final class StatusBox: Sendable {
  private let status = Mutex(SMPPStatus.stopped)

  var value: SMPPStatus {
    get { status.withLock { $0 } }
    set { status.withLock { $0 = newValue } }
  }
}
