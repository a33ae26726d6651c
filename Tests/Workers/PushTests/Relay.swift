import Glibc
import Synchronization
import TestSupport

/// Passes bytes between its clients and a port, until it is told to swallow them: then the connections that are there look alive, and
/// nothing that is sent over them arrives. New ones are passed on.
final class Relay: Sendable {
  let port: UInt16
  private let listener: Int32
  private let state = Mutex<(count: Int, frozen: Int)>((0, 0))

  var connections: Int { state.withLock { $0.count } }

  init(to target: UInt16) {
    let listener = RawServer.listen(backlog: 64)
    self.listener = listener
    port = RawServer.port(of: listener)
    onNewThread { [self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        let number = state.withLock { state in
          state.count += 1
          return state.count
        }
        let server = RawServer.connect(to: target)
        onNewThread { [self] in copy(from: client, to: server, number) }
        onNewThread { [self] in copy(from: server, to: client, number) }
      }
    }
  }

  func freeze() { state.withLock { $0.frozen = $0.count } }

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

extension RawServer {
  fileprivate static func connect(to port: UInt16) -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = loopback(port: port)
    withUnsafeBytes(of: &address) { bytes in
      _ = Glibc.connect(
        descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    return descriptor
  }
}
