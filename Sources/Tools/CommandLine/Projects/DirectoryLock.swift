#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// The lock of a file's directory, so that two commands do not change the file at the same time: the later one would
/// undo what the earlier one has written.
///
/// The file itself cannot have the lock, since each change puts a new one in its place. The kernel releases the lock
/// however the process ends, and nothing is left over.
struct DirectoryLock {
  private static let interval: useconds_t = 20_000

  private let descriptor: Int32

  /// Waits until no other command has the lock. Blocks.
  init(of path: String, patience: Duration) throws(CommandLineError) {
    let directory = Self.directory(of: path)
    descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let code: CommandLineError.Code = errno == EACCES ? .notPermitted : .noInput
      throw CommandLineError(code, "\(directory) cannot be opened: \(String(cString: strerror(errno)))")
    }
    let end = ContinuousClock.now + patience
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      // Some network file systems lock no directories; the file is then written without a lock.
      guard errno == EWOULDBLOCK || errno == EINTR else { return }
      guard ContinuousClock.now < end else {
        close(descriptor)
        throw CommandLineError(.unavailable, "another command changes \(path): try again when it has ended")
      }
      usleep(Self.interval)
    }
  }

  /// Gives the lock back, once the new file has its name for good.
  func release() {
    // An error would concern the name after a loss of power only.
    fsync(descriptor)
    close(descriptor)
  }

  private static func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
