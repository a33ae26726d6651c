#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Reads small local files, and explains to an operator why one cannot be read.
enum LocalFile {
  struct Content {
    let bytes: [UInt8]
    let isReadableByAll: Bool
  }

  struct Problem: Error, CustomStringConvertible {
    let description: String
    let isPermission: Bool

    init(_ description: String, isPermission: Bool = false) {
      self.description = description
      self.isPermission = isPermission
    }
  }

  /// Blocks, so call it at the start of a process and not from its tasks.
  static func read(_ path: String, maxBytes: Int) throws(Problem) -> Content {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw problem(path, errno) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw problem(path, errno) }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw Problem("\(path) is a directory; name a file") }
    let bytes = try readAll(descriptor, path, maxBytes: maxBytes)
    let isPlainFile = status.st_mode & S_IFMT == S_IFREG
    return Content(bytes: bytes, isReadableByAll: isPlainFile && status.st_mode & S_IROTH != 0)
  }

  private static func readAll(_ descriptor: Int32, _ path: String, maxBytes: Int) throws(Problem) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 * 1024)
    while true {
      let count = readChunk(descriptor, &chunk)
      if count == 0 { return bytes }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw problem(path, errno) }
      bytes.append(contentsOf: chunk[..<count])
      guard bytes.count <= maxBytes else { throw Problem("\(path) is larger than \(maxBytes) bytes") }
    }
  }

  private static func readChunk(_ descriptor: Int32, _ chunk: inout [UInt8]) -> Int {
    chunk.withUnsafeMutableBytes { buffer in
      #if canImport(Glibc)
        Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      #elseif canImport(Musl)
        Musl.read(descriptor, buffer.baseAddress, buffer.count)
      #else
        Darwin.read(descriptor, buffer.baseAddress, buffer.count)
      #endif
    }
  }

  private static func problem(_ path: String, _ code: Int32) -> Problem {
    switch code {
    case ENOENT: Problem("\(path) does not exist; create it or name another file")
    case EACCES, EPERM:
      Problem(
        "\(path) cannot be read by user \(userName); fix it with: chown \(userName) \(path) && chmod 600 \(path)"
          + " (and every directory above it needs chmod +x)",
        isPermission: true)
    default: Problem("\(path) cannot be read: \(String(cString: strerror(code)))")
    }
  }

  /// The name of the user whose permissions apply. The number when it has no name.
  static var userName: String {
    guard let entry = getpwuid(geteuid()), let name = entry.pointee.pw_name else { return String(geteuid()) }
    return String(cString: name)
  }
}
