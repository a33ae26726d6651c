import Glibc
import Synchronization
import TestSupport

/// Stands between a store and its server, and cuts a connection between any two of its requests.
final class CuttingProxy: Sendable {
  /// Moment of a cut, counted from when it was set.
  enum Cut: Sendable, Hashable {
    /// A number of answers passed, and the next request does not.
    case beforeRequest(behind: Int)
    /// A number of answers passed. The next request does, and its answer does not.
    case beforeAnswer(behind: Int)
  }

  private struct State {
    var cut: Cut?
    var answers = 0
    var cuts = 0
  }

  private let state = Mutex(State())
  private let server: Mutex<RawServer?> = Mutex(nil)
  let port: Int

  init(to port: Int) {
    let box = Box()
    let server = RawServer { _, peer, _ in box.proxy.withLock { $0 }?.forward(peer.descriptor, to: port) }
    self.port = Int(server.port)
    self.server.withLock { $0 = server }
    box.proxy.withLock { $0 = self }
  }

  private final class Box: Sendable {
    let proxy = Mutex<CuttingProxy?>(nil)
  }

  var cuts: Int { state.withLock { $0.cuts } }

  /// Cuts one connection, and no other afterwards.
  func set(_ cut: Cut) {
    state.withLock { state in
      state.cut = cut
      state.answers = 0
    }
  }

  func stop() { server.withLock { $0 }?.stop() }

  private func isOver(fromServer: Bool) -> Bool {
    state.withLock { state in
      switch state.cut {
      case .beforeRequest(let count): guard !fromServer, state.answers == count else { return false }
      case .beforeAnswer(let count): guard fromServer, state.answers == count else { return false }
      case nil: return false
      }
      state.cut = nil
      state.cuts += 1
      return true
    }
  }

  private func note(answers: Int) { state.withLock { $0.answers += answers } }

  private func forward(_ client: Int32, to port: Int) {
    let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(server) }
    var address = RawServer.loopback(port: UInt16(port))
    let status = withUnsafeBytes(of: &address) { bytes in
      connect(server, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    guard status == 0 else { return }
    let ends = [client, server]
    var polled = ends.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var answers = AnswerCounter()
    while poll(&polled, 2, -1) > 0 {
      for (index, end) in polled.enumerated() where end.revents != 0 {
        let count = recv(end.fd, &buffer, buffer.count, 0)
        guard count > 0, !isOver(fromServer: index == 1) else { return }
        // Before it is passed on: the next request must not be faster than its count.
        if index == 1 { note(answers: answers.count(in: buffer[..<count])) }
        guard send(ends[1 - index], buffer, count, Int32(MSG_NOSIGNAL)) == count else { return }
      }
    }
  }
}

/// Counts the ends of answers (`ReadyForQuery`) in what a server sends: messages of a type, a length and so many bytes.
private struct AnswerCounter {
  private var header: [UInt8] = []
  private var left = 0

  mutating func count(in bytes: ArraySlice<UInt8>) -> Int {
    var answers = 0
    var rest = bytes
    while !rest.isEmpty {
      if left > 0 {
        let taken = min(left, rest.count)
        left -= taken
        rest = rest.dropFirst(taken)
        continue
      }
      header.append(rest.removeFirst())
      guard header.count == 5 else { continue }
      if header[0] == UInt8(ascii: "Z") { answers += 1 }
      left = header[1...].reduce(0) { $0 << 8 | Int($1) } - 4
      header = []
    }
    return answers
  }
}
