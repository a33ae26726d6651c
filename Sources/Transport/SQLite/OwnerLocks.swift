public import CountersignTelemetry
import Glibc

/// Determines whether a process that left rows in a database still runs.
///
/// Each owner has a random number, and a lock on the byte of that number in an empty file next to the database. The
/// kernel releases it with the process. It is a lock of the open file (`F_OFD_SETLK`, fcntl(2)), so it tells owners in
/// one process apart.
public final class OwnerLocks: Sendable {
  /// From `<fcntl.h>`, which declares them behind `_GNU_SOURCE`. The same on every Linux.
  private static let getLock: Int32 = 36
  private static let setLock: Int32 = 37

  /// Number of this owner, from 1 on.
  public let own: Int64
  private let descriptor: Int32

  /// Takes a new number and its lock, which ends with this object or its process.
  /// - Parameter path: the database; the lock file has its name with `-owners` appended.
  /// - Throws: ``StoreError/Code/notPermitted`` when the lock file cannot be written.
  public init(path: String) throws(StoreError) {
    let file = path + "-owners"
    let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.error("cannot open \(file)") }
    // A second try is for a number that another owner has, which never happens.
    for _ in 0..<2 {
      let number = Int64.random(in: 1..<Int64.max)
      var lock = Self.lock(number)
      if fcntl(descriptor, Self.setLock, &lock) == 0 {
        self.own = number
        self.descriptor = descriptor
        return
      }
    }
    let error = Self.error("cannot lock \(file)")
    Glibc.close(descriptor)
    throw error
  }

  deinit {
    Glibc.close(descriptor)
  }

  /// Whether the process with a number still runs. In doubt it does: what a living process left is not touched.
  /// - Parameter owner: a value of ``own``, of this process or of another one on this host.
  public func isLiving(_ owner: Int64) -> Bool {
    if owner == own { return true }
    var lock = Self.lock(owner)
    guard fcntl(descriptor, Self.getLock, &lock) == 0 else { return true }
    return lock.l_type != Int16(F_UNLCK)
  }

  /// Gives the lock up: from now on, the owner is dead to others.
  public func end() {
    var lock = Self.lock(own)
    lock.l_type = Int16(F_UNLCK)
    // It fails only when there is no lock.
    _ = fcntl(descriptor, Self.setLock, &lock)
  }

  private static func lock(_ number: Int64) -> flock {
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = off_t(number)
    lock.l_len = 1
    return lock
  }

  private static func error(_ what: String) -> StoreError {
    let reason = strerror(errno).map { String(cString: $0) } ?? "unknown error"
    return StoreError(.notPermitted, "\(what) (\(reason)): it must be writable for user \(geteuid())")
  }
}
