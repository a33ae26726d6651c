import Dispatch
import Glibc
import Synchronization

/// Transceiver sessions of one account, on its own port.
final class SMPPServer: Sendable {
  /// Each has a thread. More than all workers of a development stack have.
  private static let maxSessions = 16

  private struct State {
    var peers: [Int: SMPPPeer] = [:]
    var next = 0
    var isStopped = false
  }

  let port: UInt16
  private let listener: Int32
  private let account: SMPPAccount
  private let receipts: ReceiptReporter
  private let state = Mutex(State())

  init(host: String, account: SMPPAccount, receipts: ReceiptReporter) throws(SimulationError) {
    (listener, port) = try Self.listen(host, account.settings.port)
    self.account = account
    self.receipts = receipts
    DispatchQueue(label: "simulator.smpp").async { self.accept() }
  }

  func stop() {
    let peers = state.withLock { state in
      state.isStopped = true
      return Array(state.peers.values)
    }
    shutdown(listener, Int32(SHUT_RDWR))
    for peer in peers { peer.end() }
  }

  private func accept() {
    while true {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0 else {
        if errno == EINTR || errno == ECONNABORTED { continue }
        break
      }
      admit(descriptor)
    }
    close(listener)
  }

  private func admit(_ descriptor: Int32) {
    let peer = SMPPPeer(descriptor, account: account, receipts: receipts)
    let number: Int? = state.withLock { state in
      guard !state.isStopped, state.peers.count < Self.maxSessions else { return nil }
      state.next += 1
      state.peers[state.next] = peer
      return state.next
    }
    guard let number else {
      close(descriptor)
      return
    }
    DispatchQueue(label: "simulator.smpp.session").async {
      peer.serve()
      self.state.withLock { $0.peers[number] = nil }
    }
  }

  private static func listen(_ host: String, _ port: UInt16) throws(SimulationError) -> (Int32, UInt16) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0, inet_pton(AF_INET, host, &address.sin_addr) == 1 else {
      if descriptor >= 0 { close(descriptor) }
      throw SimulationError(code: .cannotListen, description: "SMPP needs an IPv4 address to listen on, not \(host)")
    }
    var isOn: Int32 = 1
    // Without it, the port stays taken for a minute after a restart.
    _ = setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard bind(descriptor, address, length) == 0, Glibc.listen(descriptor, 16) == 0 else { return errno }
        return getsockname(descriptor, address, &length) == 0 ? 0 : errno
      }
    }
    guard status == 0 else {
      close(descriptor)
      throw SimulationError(
        code: .cannotListen,
        description: "cannot listen for SMPP on \(host):\(port): \(String(cString: strerror(status)))")
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }
}
