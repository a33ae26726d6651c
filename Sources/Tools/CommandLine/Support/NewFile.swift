import CountersignEncoding

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// A file that did not exist, for its owner alone.
enum NewFile {
  /// Writes a file, on the disk when it returns. One that exists stays as it is.
  static func write(_ content: [UInt8], to path: String) throws(CommandLineError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure(path) }
    defer { close(descriptor) }
    do throws(CommandLineError) {
      try write(content, to: descriptor, of: path)
    } catch {
      unlink(path)
      throw error
    }
  }

  /// Puts a file in the place of another, if there is one.
  static func replace(_ path: String, by content: [UInt8]) throws(CommandLineError) {
    let temporary = "\(path).new"
    unlink(temporary)
    try write(content, to: temporary)
    guard rename(temporary, path) == 0 else { throw failure(path) }
  }

  private static func write(_ content: [UInt8], to descriptor: Int32, of path: String) throws(CommandLineError) {
    var rest = content[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure(path) }
      rest = rest.dropFirst(count)
    }
    guard fsync(descriptor) == 0 else { throw failure(path) }
  }

  static func failure(_ path: String) -> CommandLineError {
    guard errno != EEXIST else { return CommandLineError(.badInput, "\(path) exists already: name another file") }
    let code: CommandLineError.Code = errno == EACCES || errno == EPERM ? .notPermitted : .noInput
    return CommandLineError(code, "\(path) cannot be written: \(String(cString: strerror(errno)))")
  }
}
