package import Glibc
import Synchronization

/// A server that does to its connections what a script says, byte by byte.
package final class RawServer: Sendable {
  /// The other end of one connection, used by the script's thread.
  package struct Peer {
    package let descriptor: Int32

    /// Reads a request with its body. `nil` at the end of the connection.
    package func readRequest() -> String? {
      var received: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let text = String(decoding: received, as: UTF8.self)
        if let end = text.firstRange(of: "\r\n\r\n") {
          let length =
            text.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.split(separator: ":")[1].filter(\.isNumber)) } ?? 0
          if text[end.upperBound...].utf8.count >= length { return text }
        }
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        received += buffer[..<count]
      }
    }

    package func write(_ text: String) {
      let bytes = Array(text.utf8)
      _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Sends a reset at once. (A close with SO_LINGER 0 has no effect while a process that is being started has a copy of the
    /// descriptor, and another test starts nginx.)
    package func reset() {
      var unspecified = sockaddr()
      unspecified.sa_family = sa_family_t(AF_UNSPEC)
      connect(descriptor, &unspecified, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Passes on what comes from either side, until one of them goes.
    package func forward(to port: UInt16) {
      let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(server) }
      var address = RawServer.loopback(port: port)
      let status = withUnsafeBytes(of: &address) { bytes in
        connect(server, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
      }
      guard status == 0 else { return }
      let ends = [descriptor, server]
      var polled = ends.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while poll(&polled, 2, -1) > 0 {
        for (index, end) in polled.enumerated() where end.revents != 0 {
          let count = recv(end.fd, &buffer, buffer.count, 0)
          guard count > 0, send(ends[1 - index], buffer, count, Int32(MSG_NOSIGNAL)) == count else { return }
        }
      }
    }

    /// Waits for the client to go.
    package func hang() {
      var byte: UInt8 = 0
      while recv(descriptor, &byte, 1, 0) > 0 {}
    }
  }

  package static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  package let port: UInt16
  /// Yields after each connection that the server has closed.
  package let ends: AsyncStream<Void>
  private let listener: Int32
  private let requestLog = Mutex<[String]>([])
  private let connectionCount = Mutex(0)

  /// Every request that was read, on whatever connection.
  package var requests: [String] { requestLog.withLock { $0 } }
  package var connections: Int { connectionCount.withLock { $0 } }
  package var url: String { "http://127.0.0.1:\(port)/" }

  /// Runs `script` on a thread of its own for every connection, with the connection's number from 1.
  package init(_ script: @escaping @Sendable (RawServer, Peer, Int) -> Void) {
    let listener = Self.listen(backlog: 128)
    self.listener = listener
    port = Self.port(of: listener)
    let (ends, ended) = AsyncStream<Void>.makeStream()
    self.ends = ends
    onNewThread {
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        let number = self.connectionCount.withLock { count in
          count += 1
          return count
        }
        onNewThread {
          script(self, Peer(descriptor: descriptor), number)
          // For the same reason.
          shutdown(descriptor, Int32(SHUT_RDWR))
          close(descriptor)
          ended.yield()
        }
      }
    }
  }

  /// Ends the accepting thread.
  package func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  /// Reads a request and notes it.
  package func read(_ peer: Peer) -> Bool {
    guard let request = peer.readRequest() else { return false }
    requestLog.withLock { $0.append(request) }
    return true
  }

  package static func listen(backlog: Int32) -> Int32 {
    let descriptor = bound(to: 0)!
    _ = Glibc.listen(descriptor, backlog)
    return descriptor
  }

  /// A socket that does not listen. `nil` when another one has the port.
  fileprivate static func bound(to port: UInt16) -> Int32? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = loopback(port: port)
    let status = withUnsafeBytes(of: &address) { bytes in
      bind(descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    if status == 0 { return descriptor }
    close(descriptor)
    return nil
  }

  package static func port(of descriptor: Int32) -> UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutableBytes(of: &address) { bytes in
      _ = getsockname(descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
    }
    return UInt16(bigEndian: address.sin_port)
  }

  package static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}

/// A port that refuses connections as long as this process runs: a socket of ours has it, and does not listen.
package let refusingPort: UInt16 = RawServer.port(of: RawServer.bound(to: 0)!)

/// A port that nobody listens on, another one each time, beyond those that the kernel gives to others meanwhile
/// (`net.ipv4.ip_local_port_range`): a server gets it again after a restart, unless another process of tests took it.
package func unusedPort() -> UInt16 {
  for _ in unusedPorts {
    let port = nextPort.withLock { next in
      defer { next = next == unusedPorts.upperBound ? unusedPorts.lowerBound : next + 1 }
      return next
    }
    if let descriptor = RawServer.bound(to: port) {
      close(descriptor)
      return port
    }
  }
  preconditionFailure("there is no free port for a server")
}

private let unusedPorts: ClosedRange<UInt16> = 61_000...65_400
private let nextPort = Mutex(UInt16.random(in: unusedPorts))

/// Runs a body that blocks on a new thread. Dispatch's global queues would not do: on Linux they share their threads with
/// the cooperative pool, and add another to blocked ones slowly.
package func onNewThread(_ body: @escaping @Sendable () -> Void) {
  final class Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  var thread = pthread_t()
  let box = Unmanaged.passRetained(Box(body)).toOpaque()
  let status = pthread_create(
    &thread, nil,
    { pointer in
      Unmanaged<Box>.fromOpaque(pointer!).takeRetainedValue().body()
      return nil
    }, box)
  precondition(status == 0, "no thread for a test")
  pthread_detach(thread)
}
