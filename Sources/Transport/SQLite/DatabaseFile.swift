import CountersignTelemetry
import Glibc

/// The file of a database, prepared before SQLite opens it, so that failures can name the remedy.
struct DatabaseFile {
  /// Reading and writing for the owner only. SQLite gives its -wal and -shm files the mode of the database.
  private static let mode: mode_t = 0o600

  let path: String

  func prepare() throws(StoreError) {
    guard !path.isEmpty, path != ":memory:" else {
      throw StoreError(.misuse, "a database needs a file: several connections share it")
    }
    try checkDirectory()
    var status = stat()
    if stat(path, &status) != 0 {
      guard errno == ENOENT else { throw failure("look at \(path)", errno) }
      try create()
    } else {
      try check(status)
    }
  }

  private var directory: String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private func checkDirectory() throws(StoreError) {
    var status = stat()
    guard stat(directory, &status) == 0 else {
      guard errno == ENOENT else { throw failure("look at the directory \(directory)", errno) }
      throw StoreError(
        .cannotOpen,
        "the directory \(directory) of the database does not exist: create it, writable for user \(geteuid())")
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      throw StoreError(.cannotOpen, "\(directory) is not a directory: name another file for the database")
    }
    // SQLite creates its write-ahead log beside the database.
    guard access(directory, W_OK | X_OK) == 0 else { throw failure("write into the directory \(directory)", errno) }
  }

  private func create() throws(StoreError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, Self.mode)
    if descriptor >= 0 {
      // A file that did not exist has no locks to lose: closing a handle drops the process's POSIX locks on it.
      close(descriptor)
      return
    }
    // Another process was faster.
    guard errno == EEXIST else { throw failure("create \(path)", errno) }
  }

  private func check(_ status: stat) throws(StoreError) {
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StoreError(.cannotOpen, "\(path) is not a regular file: name another file for the database")
    }
    guard access(path, R_OK | W_OK) == 0 else { throw failure("read and write \(path)", errno) }
    guard status.st_mode & 0o077 != 0 else { return }
    guard chmod(path, Self.mode) == 0 else { throw failure("take the rights of others away from \(path)", errno) }
  }

  private func failure(_ action: String, _ number: Int32) -> StoreError {
    let reason = strerror(number).map { String(cString: $0) } ?? "error \(number)"
    switch number {
    case EACCES, EPERM, EROFS:
      return StoreError(.notPermitted, "user \(geteuid()) may not \(action) (\(reason)): change its owner or mode")
    case ENOSPC, EDQUOT:
      return StoreError(.full, "cannot \(action) (\(reason)): free some space")
    default:
      return StoreError(.cannotOpen, "cannot \(action) (\(reason))")
    }
  }
}
