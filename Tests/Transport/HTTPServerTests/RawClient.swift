import Glibc
import TestSupport

struct RawAnswer: Sendable, Equatable {
  enum End: Sendable, Equatable { case orderly, reset, timedOut }

  var text: String
  var end: End

  var status: Int? {
    Int(text.split(separator: " ").dropFirst().first ?? "")
  }

  var body: String {
    text.split(separator: "\r\n\r\n", maxSplits: 1).dropFirst().first.map(String.init) ?? ""
  }
}

enum RawClient {
  /// Time for which an answer is awaited: hundreds of tests may have the processor first.
  private static let patienceSeconds = 120

  /// Sends bytes and reads to the end of the connection. Blocks a thread of its own.
  static func exchange(port: UInt16, _ request: String) async -> RawAnswer {
    await withCheckedContinuation { continuation in
      onNewThread { continuation.resume(returning: blockingExchange(port: port, request)) }
    }
  }

  static func get(port: UInt16, _ target: String, headers: [String] = []) async -> RawAnswer {
    let lines = ["GET \(target) HTTP/1.1", "Host: localhost", "Connection: close"] + headers
    return await exchange(port: port, lines.joined(separator: "\r\n") + "\r\n\r\n")
  }

  private static func blockingExchange(port: UInt16, _ request: String) -> RawAnswer {
    let descriptor = connect(port: port)
    defer { close(descriptor) }
    var sent = 0
    let bytes = Array(request.utf8)
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { break }
      sent += count
    }
    return read(descriptor)
  }

  private static func connect(port: UInt16) -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var timeout = timeval(tv_sec: patienceSeconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    _ = withUnsafeBytes(of: &address) { bytes in
      Glibc.connect(descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    return descriptor
  }

  private static func read(_ descriptor: Int32) -> RawAnswer {
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count > 0 {
        received += buffer[..<count]
        continue
      }
      let text = String(decoding: received, as: UTF8.self)
      if count == 0 { return RawAnswer(text: text, end: .orderly) }
      return RawAnswer(text: text, end: errno == ECONNRESET ? .reset : .timedOut)
    }
  }
}
