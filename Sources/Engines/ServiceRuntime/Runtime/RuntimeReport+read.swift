import CountersignEncoding
import Dispatch

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

extension RuntimeReport {
  /// Bytes of the longest report that is read.
  public static let maxBytes = 1 << 20
  private static let patience = timeval(tv_sec: 2, tv_usec: 0)

  /// Reads the report of a process. `nil` for what is none.
  public static func read(_ json: [UInt8]) -> RuntimeReport? {
    try? JSONReader(maxBytes: maxBytes).decode(RuntimeReport.self, from: json)
  }

  /// Asks a process over its socket.
  /// - Returns: `nil` if this user may not, or the process does not answer.
  public static func ask(socket path: String) async -> RuntimeReport? {
    // Reading blocks, so it runs outside the cooperative pool.
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: content(of: path).flatMap(read)) }
    }
  }

  private static func content(of path: String) -> [UInt8]? {
    guard var address = sockaddr_un(path: path) else { return nil }
    let connection = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard connection >= 0 else { return nil }
    defer { close(connection) }
    var patience = patience
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    guard address.withPointer({ connect(connection, $0, $1) }) == 0 else { return nil }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    while bytes.count <= maxBytes {
      let count = Glibc.read(connection, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return count == 0 ? bytes : nil }
      bytes += chunk[..<count]
    }
    return nil
  }
}
