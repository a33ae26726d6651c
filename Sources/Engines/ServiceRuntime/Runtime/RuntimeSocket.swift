import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Tells what the process runs with, paths and check values included: its own user and root may open it, by the mode of
/// its file. A connection gets one JSON document, and ends.
final class RuntimeSocket: Sendable {
  /// A document that the buffer of a connection does not take at once is cut short, and so refused by its reader.
  private static let bufferBytes: Int32 = 1 << 20
  private static let backlog: Int32 = 8

  let path: String
  private let source: Mutex<(any DispatchSourceRead)?>

  init(path: String, document: @escaping @Sendable () -> [UInt8]) throws(StartError) {
    self.path = path
    let listener = try Self.listen(path)
    let source = DispatchSource.makeReadSource(fileDescriptor: listener, queue: .global(qos: .utility))
    source.setEventHandler { Self.serve(listener, document) }
    source.setCancelHandler { close(listener) }
    source.activate()
    self.source = Mutex(source)
  }

  func stop() {
    source.withLock { source in
      guard let ended = source else { return }
      unlink(path)
      ended.cancel()
      source = nil
    }
  }

  private static func listen(_ path: String) throws(StartError) -> Int32 {
    guard var address = sockaddr_un(path: path) else {
      throw failure(path, "the path is too long")
    }
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let listener = socket(AF_UNIX, kind, 0)
    guard listener >= 0 else { throw failure(path, String(cString: strerror(errno))) }
    unlink(path)
    // The mode of the unbound socket becomes that of its file: at no time may others open it.
    guard fchmod(listener, S_IRUSR | S_IWUSR) == 0, address.withPointer({ bind(listener, $0, $1) }) == 0,
      Glibc.listen(listener, backlog) == 0
    else {
      let problem = String(cString: strerror(errno))
      close(listener)
      throw failure(path, problem)
    }
    return listener
  }

  private static func serve(_ listener: Int32, _ document: () -> [UInt8]) {
    let client = accept(listener, nil, nil)
    guard client >= 0 else { return }
    defer { close(client) }
    _ = fcntl(client, F_SETFD, FD_CLOEXEC)
    var size = bufferBytes
    setsockopt(client, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    let bytes = document()
    // It never waits for its reader.
    let flags = Int32(MSG_NOSIGNAL | MSG_DONTWAIT)
    _ = bytes.withUnsafeBytes { send(client, $0.baseAddress, $0.count, flags) }
  }

  private static func failure(_ path: String, _ problem: String) -> StartError {
    StartError(
      .configuration, "http.socketDirectory: cannot listen on \(path): \(problem)",
      hint: "name a directory that this process may write to, with a shorter path")
  }
}

extension sockaddr_un {
  /// Address of a path. `nil` if it is too long.
  init?(path: String) {
    self.init()
    sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let isTaken = withUnsafeMutableBytes(of: &sun_path) { room in
      guard bytes.count < room.count else { return false }
      room.copyBytes(from: bytes)
      return true
    }
    guard isTaken else { return nil }
  }

  mutating func withPointer<T>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
    withUnsafePointer(to: &self) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
