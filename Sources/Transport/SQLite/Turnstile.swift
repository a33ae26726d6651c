import CountersignTelemetry
import Glibc

/// Makes processes that write to one file take turns.
///
/// SQLite's lock goes to the process that asks at the right moment. A group therefore first takes a lock on a file
/// beside the database and holds it until it has SQLite's. This is fairness, not protection: a group that does not get
/// it in time continues without.
final class Turnstile {
  private static let interval: UInt32 = 100

  private let descriptor: Int32

  init(path: String) throws(StoreError) {
    let file = path + "-turn"
    descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      let reason = strerror(errno).map { String(cString: $0) } ?? "unknown error"
      throw StoreError(.notPermitted, "cannot open \(file) (\(reason)): it must be writable for user \(geteuid())")
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  func enter(within patience: Duration) {
    if tryEnter() { return }
    let deadline = ContinuousClock.now + patience
    while ContinuousClock.now < deadline {
      usleep(Self.interval)
      if tryEnter() { return }
    }
  }

  /// Harmless when the turn never came.
  func leave() {
    flock(descriptor, LOCK_UN)
  }

  /// flock(2) locks belong to the open file, not to the process: two databases in one process take turns as well.
  private func tryEnter() -> Bool {
    flock(descriptor, LOCK_EX | LOCK_NB) == 0
  }
}
