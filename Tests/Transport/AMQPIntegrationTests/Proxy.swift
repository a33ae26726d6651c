import CountersignAMQP
import Foundation
import Synchronization
import TestSupport

/// Stands between a client and the broker, and does to the traffic what networks do.
///
/// Each direction of each connection has a thread of its own, which ends with the connection.
final class Proxy: Sendable {
  enum Downstream: Sendable {
    case forward
    /// Whole frames of this method, with their content, disappear.
    case swallow(classID: UInt16, methodID: UInt16)
    case freeze
  }

  struct Rules: Sendable {
    var downstream = Downstream.forward
    var stopsReading = false
    /// Makes the broker believe in a larger prefetch than the client asked for.
    var prefetch: UInt16?
    /// Goes to each client before the next frame of the broker, once.
    var injected: [UInt8] = []
    /// A client that sends this is told by the broker, as it were, that its connection is closed, with `closeCode`.
    var forbidden: [UInt8] = []
    var closeCode: UInt16 = 501
    /// New connections are accepted and get no answer.
    var isBlackHole = false
  }

  private struct State {
    var rules = Rules()
    var sockets: Set<Int32> = []
    var accepted = 0
    var isClosed = false
  }

  let port: Int
  /// Whether the traffic is in clear, so that it has frames to see.
  private let seesFrames: Bool
  private let listener: Int32
  private let target: UInt16
  private let state = Mutex(State())

  init(target: Int, seesFrames: Bool = true) throws {
    self.seesFrames = seesFrames
    self.target = UInt16(target)
    (listener, port) = try Self.listen()
    Thread.detachNewThread { self.accept() }
  }

  var accepted: Int { state.withLock { $0.accepted } }

  func change(_ body: @Sendable (inout Rules) -> Void) { state.withLock { body(&$0.rules) } }

  func reset() {
    state.withLock { state in
      for socket in state.sockets {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        shutdown(socket, Int32(SHUT_RDWR))
      }
    }
  }

  func close() {
    state.withLock { $0.isClosed = true }
    shutdown(listener, Int32(SHUT_RDWR))
    reset()
  }

  private var rules: Rules { state.withLock { $0.rules } }
  private var isClosed: Bool { state.withLock { $0.isClosed } }

  private static func listen() throws -> (socket: Int32, port: Int) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = RawServer.loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && Glibc.listen(listener, 16) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard isBound else { throw Broker.Missing(description: "no port for the proxy") }
    return (listener, Int(UInt16(bigEndian: address.sin_port)))
  }

  private func accept() {
    while !isClosed {
      let client = Glibc.accept(listener, nil, nil)
      guard client >= 0 else { break }
      // A small buffer, so that a peer that stops reading is felt soon.
      var size: Int32 = 64 << 10
      setsockopt(client, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
      state.withLock { state in
        state.accepted += 1
        _ = state.sockets.insert(client)
      }
      if rules.isBlackHole { continue }
      let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = RawServer.loopback(port: target)
      let isConnected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      state.withLock { _ = $0.sockets.insert(server) }
      guard isConnected else {
        end(client, server)
        continue
      }
      Thread.detachNewThread { self.pumpUp(client, server) }
      Thread.detachNewThread { self.pumpDown(server, client) }
    }
    Glibc.close(listener)
  }

  /// Both sockets stay open, half dead, until the proxy is closed: a descriptor must not be reused under a thread.
  private func end(_ one: Int32, _ other: Int32) {
    shutdown(one, Int32(SHUT_RDWR))
    shutdown(other, Int32(SHUT_RDWR))
  }

  private func pumpUp(_ client: Int32, _ server: Int32) {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      while rules.stopsReading, !isClosed { usleep(20_000) }
      let count = recv(client, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      if FrameFilter.contains(rules.forbidden, buffer[..<count]) {
        _ = write(FrameFilter.connectionClose(rules.closeCode)[...], to: client)
        // The answer to it is the last that is read.
        _ = recv(client, &buffer, buffer.count, 0)
        break
      }
      if let prefetch = rules.prefetch { FrameFilter.replacePrefetch(in: &buffer, count, prefetch) }
      guard write(buffer[..<count], to: server) else { break }
    }
    end(client, server)
  }

  private func pumpDown(_ server: Int32, _ client: Int32) {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    var filter = FrameFilter()
    while true {
      while case .freeze = rules.downstream, !isClosed { usleep(20_000) }
      let count = recv(server, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      let passed = seesFrames ? filter.pass(buffer[..<count], rules.downstream) : Array(buffer[..<count])
      if !passed.isEmpty { guard write(takeInjected()[...], to: client) else { break } }
      guard write(passed[...], to: client) else { break }
    }
    end(client, server)
  }

  private func takeInjected() -> [UInt8] {
    state.withLock { state in
      defer { state.rules.injected = [] }
      return state.rules.injected
    }
  }

  private func write(_ bytes: ArraySlice<UInt8>, to socket: Int32) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}

/// Takes frames of one method, with the content that follows, out of a stream of AMQP frames.
struct FrameFilter {
  private var pending: [UInt8] = []
  private var isDroppingContent = false

  mutating func pass(_ bytes: ArraySlice<UInt8>, _ rule: Proxy.Downstream) -> [UInt8] {
    pending += bytes
    var result: [UInt8] = []
    while pending.count >= 7 {
      let size = 8 + pending[3..<7].reduce(0) { $0 << 8 | Int($1) }
      guard pending.count >= size else { break }
      if !drops(pending[..<size], rule) { result += pending[..<size] }
      pending.removeFirst(size)
    }
    return result
  }

  static let consumerCancel: [UInt8] = [1, 0, 1, 0, 0, 0, 6, 0, 60, 0, 30, 0, 1, 0xCE]

  static func connectionClose(_ code: UInt16) -> [UInt8] {
    [1, 0, 0, 0, 0, 0, 11, 0, 10, 0, 50, UInt8(code >> 8), UInt8(code & 255), 0, 0, 0, 0, 0, 0xCE]
  }

  static func contains(_ text: [UInt8], _ bytes: ArraySlice<UInt8>) -> Bool {
    guard !text.isEmpty, bytes.count >= text.count else { return false }
    return (bytes.startIndex...(bytes.endIndex - text.count)).contains {
      bytes[$0..<($0 + text.count)].elementsEqual(text)
    }
  }

  /// Changes the count in a basic.qos frame, which is sent at once and so arrives in one piece.
  static func replacePrefetch(in buffer: inout [UInt8], _ count: Int, _ prefetch: UInt16) {
    let qos: [UInt8] = [1, 0, 1, 0, 0, 0, 11, 0, 60, 0, 10]
    guard count >= 19 else { return }
    for start in 0...(count - 19) where buffer[start..<(start + 11)].elementsEqual(qos) {
      buffer[start + 15] = UInt8(prefetch >> 8)
      buffer[start + 16] = UInt8(prefetch & 255)
    }
  }

  private mutating func drops(_ frame: ArraySlice<UInt8>, _ rule: Proxy.Downstream) -> Bool {
    switch frame[frame.startIndex] {
    case 1:
      guard case .swallow(let classID, let methodID) = rule else {
        isDroppingContent = false
        return false
      }
      let start = frame.startIndex + 7
      let isWanted =
        UInt16(frame[start]) << 8 | UInt16(frame[start + 1]) == classID
        && UInt16(frame[start + 2]) << 8 | UInt16(frame[start + 3]) == methodID
      isDroppingContent = isWanted
      return isWanted
    case 2, 3: return isDroppingContent
    default: return false
    }
  }
}

func withProxy<R>(_ body: (Proxy, BrokerEndpoint) async throws -> R) async throws -> R {
  let direct = try Broker.endpoint()
  let proxy = try Proxy(target: direct.hosts[0].port)
  defer { proxy.close() }
  var endpoint = direct
  endpoint.hosts = [BrokerHost("127.0.0.1", port: proxy.port)]
  return try await body(proxy, endpoint)
}
