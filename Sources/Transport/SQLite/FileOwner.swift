public import CountersignTelemetry
import Glibc
import Synchronization

/// A process's claim to be the only one that works with a file, kept by a lock on a file beside it.
///
/// SQLite lets processes share a file, which one that keeps state in memory, or publishes its rows, must not. The
/// kernel releases the lock however the process ends.
public final class FileOwner: Sendable {
  /// `nil` once it is released.
  private let descriptor: Mutex<Int32?>

  private init(descriptor: Int32) {
    self.descriptor = Mutex(descriptor)
  }

  deinit { release() }

  /// Ends the claim at once.
  public func release() {
    descriptor.withLock { descriptor in
      if let descriptor { close(descriptor) }
      descriptor = nil
    }
  }

  /// - Parameters:
  ///   - path: the file; the lock is on a file of that name with `-lock` appended.
  /// - Returns: `nil` when another process has it.
  public static func claim(_ path: String) throws(StoreError) -> FileOwner? {
    let file = path + "-lock"
    let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure("open \(file)", errno) }
    let owner = FileOwner(descriptor: descriptor)
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw failure("lock \(file)", errno) }
      return nil
    }
    return owner
  }

  private static func failure(_ action: String, _ number: Int32) -> StoreError {
    let reason = strerror(number).map { String(cString: $0) } ?? "error \(number)"
    switch number {
    case EACCES, EPERM, EROFS:
      return StoreError(.notPermitted, "user \(geteuid()) may not \(action) (\(reason)): change its owner or mode")
    case ENOSPC, EDQUOT: return StoreError(.full, "cannot \(action) (\(reason)): free some space")
    default: return StoreError(.cannotOpen, "cannot \(action) (\(reason)): its directory must exist")
    }
  }
}
