import Glibc
import SQLite

/// Determines whether the process that wrote a mark still runs.
///
/// Each owner has a random number, and a lock on the byte of that number in a file next to the database. The file stays
/// empty: a lock needs no byte to be there. The kernel releases the lock when the process ends, however it ends, so the
/// state of an owner is reliable. It is a lock of the open file (`F_OFD_SETLK`, fcntl(2)), so it distinguishes two
/// owners in one process as well.
final class OwnerLocks: Sendable {
  /// From `<fcntl.h>`, which declares them behind `_GNU_SOURCE`; the same on every Linux.
  private static let getLock: Int32 = 36
  private static let setLock: Int32 = 37

  /// The number of this owner, which is never 0.
  let own: Int64
  private let descriptor: Int32

  /// - Parameter path: the database; the lock file has its name with `-owners` appended.
  init(path: String) throws(DatabaseError) {
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

  /// State of an owner. In doubt it is living: a mark that is not counted costs one more crash, one that is counted
  /// wrongly costs a message.
  func state(of owner: Int64) -> MarkRecord.Owner {
    if owner == 0 { return .nobody }
    if owner == own { return .ourselves }
    var lock = Self.lock(owner)
    guard fcntl(descriptor, Self.getLock, &lock) == 0 else { return .living }
    return lock.l_type == Int16(F_UNLCK) ? .dead : .living
  }

  private static func lock(_ number: Int64) -> flock {
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = off_t(number)
    lock.l_len = 1
    return lock
  }

  private static func error(_ what: String) -> DatabaseError {
    let reason = strerror(errno).map { String(cString: $0) } ?? "unknown error"
    return DatabaseError(.notPermitted, "\(what) (\(reason)): it must be writable for user \(geteuid())")
  }
}
