import Dispatch
import Glibc
import Synchronization

/// An SMPP server of the tests: takes sessions, answers each submission as a script says, and counts what it read.
///
/// It writes the few PDUs that it needs by hand, from the tables of SMPP 3.4, and so shares nothing with what is tested. The interop tests
/// have a server that somebody else wrote.
final class ScriptedSMSC: Sendable {
  enum Reply: Sendable {
    case accept(String)
    case status(UInt32)
    case reset, close, hang
  }

  private struct State {
    var submissions = 0
    var session: Int32 = -1
    var isStopped = false
  }

  let port: UInt16
  private let listener: Int32
  private let bindStatus: UInt32
  private let replies: [Reply]
  private let state = Mutex(State())

  init(_ replies: [Reply] = [], bindStatus: UInt32 = 0) throws(PortError) {
    let held = try RefusingPort()
    port = held.number
    listener = dup(held.descriptor)
    held.release()
    self.bindStatus = bindStatus
    self.replies = replies
    guard listen(listener, 4) == 0 else { throw PortError(errno) }
    DispatchQueue(label: "smsc").async { self.serve() }
  }

  var submissions: Int { state.withLock { $0.submissions } }

  func stop() {
    state.withLock { state in
      state.isStopped = true
      if state.session >= 0 { shutdown(state.session, Int32(SHUT_RDWR)) }
    }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private func serve() {
    while true {
      let session = accept(listener, nil, nil)
      guard session >= 0 else { break }
      let goesOn = state.withLock { state in
        state.session = session
        return !state.isStopped
      }
      if goesOn { while let pdu = read(session), answer(pdu, session) {} }
      state.withLock { $0.session = -1 }
      close(session)
    }
    close(listener)
  }

  private struct PDU {
    var command: UInt32
    var sequence: UInt32
  }

  private func read(_ session: Int32) -> PDU? {
    guard let header = bytes(16, session) else { return nil }
    func number(_ place: Int) -> UInt32 { header[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    guard bytes(Int(number(0)) - 16, session) != nil else { return nil }
    return PDU(command: number(4), sequence: number(12))
  }

  private func bytes(_ count: Int, _ session: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var have = 0
    while have < count {
      let received = bytes.withUnsafeMutableBytes { recv(session, $0.baseAddress! + have, count - have, 0) }
      guard received > 0 else { return nil }
      have += received
    }
    return bytes
  }

  private func answer(_ pdu: PDU, _ session: Int32) -> Bool {
    switch pdu.command {
    case 0x09:  // bind_transceiver
      return send(pdu, bindStatus, bindStatus == 0 ? "smsc" : nil, session)
    case 0x04:  // submit_sm
      let number = state.withLock { state in
        state.submissions += 1
        return state.submissions
      }
      return answer(pdu, replies[min(number, replies.count) - 1], session)
    case 0x06:  // unbind
      _ = send(pdu, 0, nil, session)
      return false
    default:
      return pdu.command & 0x8000_0000 != 0 || send(pdu, 0, nil, session)
    }
  }

  private func answer(_ pdu: PDU, _ reply: Reply, _ session: Int32) -> Bool {
    switch reply {
    case .accept(let id): return send(pdu, 0, id, session)
    case .status(let status): return send(pdu, status, nil, session)
    case .hang: return true
    case .close: return false
    case .reset:
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(session, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
      return false
    }
  }

  private func send(_ pdu: PDU, _ status: UInt32, _ text: String?, _ session: Int32) -> Bool {
    let body: [UInt8] = text.map { Array($0.utf8) + [0] } ?? []
    var bytes: [UInt8] = []
    for number in [UInt32(16 + body.count), pdu.command | 0x8000_0000, status, pdu.sequence] {
      for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
    bytes += body
    return Glibc.send(session, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
  }
}
