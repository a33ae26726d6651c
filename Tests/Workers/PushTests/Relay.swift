import Glibc
import Synchronization
import TestSupport

/// Passes bytes between its clients and a port, until it is told to swallow them: then the connections that are there look alive, and
/// nothing that is sent over them arrives. New ones are passed on.
final class Relay: Sendable {
  let port: UInt16
  private let listener: Int32
  private let state = Mutex<(count: Int, frozen: Int)>((0, 0))

  /// Number of connections so far.
  var connections: Int { state.withLock { $0.count } }

  init(to target: UInt16) {
    let listener = Socket.listen()
    self.listener = listener
    port = Socket.port(of: listener)
    onNewThread { [self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        let number = state.withLock { state in
          state.count += 1
          return state.count
        }
        let server = Socket.connect(to: target)
        onNewThread { [self] in copy(from: client, to: server, number) }
        onNewThread { [self] in copy(from: server, to: client, number) }
      }
    }
  }

  /// Swallows all that comes on the connections that are there.
  func freeze() { state.withLock { $0.frozen = $0.count } }

  /// Ends the accepting thread.
  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  private func copy(from source: Int32, to target: Int32, _ number: Int) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(source, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      if state.withLock({ $0.frozen < number }) { _ = send(target, buffer, count, Int32(MSG_NOSIGNAL)) }
    }
    // The other direction's thread finds the end too; the descriptors go with the process.
    shutdown(target, Int32(SHUT_RDWR))
  }
}

enum Socket {
  static func listen() -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = loopback(port: 0)
    withUnsafeBytes(of: &address) { bytes in
      _ = bind(descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    _ = Glibc.listen(descriptor, 64)
    return descriptor
  }

  static func connect(to port: UInt16) -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = loopback(port: port)
    withUnsafeBytes(of: &address) { bytes in
      _ = Glibc.connect(
        descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    return descriptor
  }

  static func port(of descriptor: Int32) -> UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutableBytes(of: &address) { bytes in
      _ = getsockname(descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
    }
    return UInt16(bigEndian: address.sin_port)
  }

  /// A port where nobody listens, for the moment.
  static func unusedPort() -> UInt16 {
    let descriptor = listen()
    defer { close(descriptor) }
    return port(of: descriptor)
  }

  private static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}
