import CountersignTelemetry
import Dispatch
import Glibc
import Synchronization

/// On its own queue, which reads and blocks.
final class SMPPPeer: Sendable {
  /// Time of silence after which a client counts as gone. A bound one sends enquire_link more often.
  private static let bindSeconds = 10
  private static let idleSeconds = 300
  private static let writeSeconds = 5

  private struct State {
    var isBound = false
    var isOpen = true
    var open = 0
    var sequence: UInt32 = 0
  }

  private let descriptor: Int32
  private let account: SMPPAccount
  private let receipts: ReceiptReporter
  private let state = Mutex(State())
  /// Locked to write PDUs whole, one after the other.
  private let writing = Mutex(())

  init(_ descriptor: Int32, account: SMPPAccount, receipts: ReceiptReporter) {
    self.descriptor = descriptor
    self.account = account
    self.receipts = receipts
  }

  /// Blocks until the session ends.
  func serve() {
    setTimeout(SO_RCVTIMEO, Self.bindSeconds)
    setTimeout(SO_SNDTIMEO, Self.writeSeconds)
    while let pdu = read(), answer(pdu) {}
    // The descriptor's number may belong to another connection from now on.
    writing.withLock { _ in
      state.withLock { $0.isOpen = false }
      close(descriptor)
    }
  }

  func end() {
    writing.withLock { _ in
      if state.withLock({ $0.isOpen }) { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }

  // MARK: - Requests

  private func answer(_ pdu: SMPPPDU) -> Bool {
    switch pdu.command {
    case SMPPPDU.bindTransceiver: return bind(pdu)
    case SMPPPDU.submit:
      submit(pdu)
      return true
    case SMPPPDU.enquireLink: return write(pdu.answer(SMPPStatusCode.ok))
    case SMPPPDU.unbind:
      write(pdu.answer(SMPPStatusCode.ok))
      return false
    default:
      if pdu.isResponse { return true }
      return write(
        SMPPPDU(command: SMPPPDU.genericNack, status: SMPPStatusCode.invalidCommandID, sequence: pdu.sequence))
    }
  }

  private func bind(_ pdu: SMPPPDU) -> Bool {
    guard !state.withLock({ $0.isBound }) else { return write(pdu.answer(SMPPStatusCode.alreadyBound)) }
    let status = account.admit(pdu.body)
    guard status == SMPPStatusCode.ok else {
      _ = account.refusal(status)
      write(pdu.answer(status))
      return false
    }
    state.withLock { $0.isBound = true }
    setTimeout(SO_RCVTIMEO, Self.idleSeconds)
    // Name of the server, and sc_interface_version.
    return write(pdu.answer(status, SMPPFields.cString("simulator") + [0x02, 0x10, 0, 1, 0x34]))
  }

  private func submit(_ pdu: SMPPPDU) {
    let (isBound, isWithin) = state.withLock { state in
      state.open += 1
      return (state.isBound, state.open <= account.settings.window)
    }
    guard isBound, isWithin else {
      return finish(
        pdu, account.refusal(isBound ? SMPPStatusCode.throttled : SMPPStatusCode.incorrectBindStatus).status)
    }
    let submission: SMPPSubmission
    do { submission = try SMPPSubmission(pdu.body) } catch {
      return finish(pdu, account.refusal(error.status).status)
    }
    guard let fault = account.gate.fault(.smpp, to: submission.recipient) else { return take(pdu, submission) }
    // A refused message is not accepted, but the answer is still the fault's.
    if fault.isProcessed, fault.kind != .latency { _ = try? account.take(submission) }
    let delay = DispatchTimeInterval.milliseconds(Int(fault.delay / .milliseconds(1)))
    DispatchQueue.global().asyncAfter(deadline: .now() + delay) { self.carryOut(fault, pdu, submission) }
  }

  private func carryOut(_ fault: Fault, _ pdu: SMPPPDU, _ submission: SMPPSubmission) {
    switch fault.kind {
    case .latency: take(pdu, submission)
    case .status(let status): finish(pdu, SMPPStatusCode.ofHTTP(status))
    case .reset, .close, .hang, .huge: end()
    }
  }

  private func take(_ pdu: SMPPPDU, _ submission: SMPPSubmission) {
    do throws(SMPPRefusal) {
      let message = try account.take(submission)
      finish(pdu, SMPPStatusCode.ok, SMPPFields.cString(message.id))
      if submission.wantsReceipt { report(message, to: submission.source) }
    } catch {
      finish(pdu, error.status)
    }
  }

  private func finish(_ pdu: SMPPPDU, _ status: UInt32, _ body: [UInt8] = []) {
    state.withLock { $0.open -= 1 }
    account.gate.count(SMPPStatusCode.text(status), .smpp)
    write(pdu.answer(status, body))
  }

  private func report(_ message: ReceivedMessage, to source: SMPPSubmission.Address) {
    receipts.report(message) { report in
      guard report.state != .sent else { return }
      let sequence = self.state.withLock { own in
        own.sequence = own.sequence % 0x7FFF_FFFF + 1
        return own.sequence
      }
      self.write(
        SMPPPDU(
          command: SMPPPDU.deliver, sequence: sequence, body: SMPPReceiptText.body(report, to: source)))
    }
  }

  // MARK: - Bytes

  private func setTimeout(_ option: Int32, _ seconds: Int) {
    var time = timeval(tv_sec: seconds, tv_usec: 0)
    // Without it, a client that is gone is noticed later.
    _ = setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  private func read() -> SMPPPDU? {
    guard let header = bytes(SMPPPDU.headerBytes) else { return nil }
    func number(_ place: Int) -> UInt32 { header[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    let length = Int(number(0))
    guard (SMPPPDU.headerBytes...SMPPPDU.maxBytes).contains(length) else {
      write(SMPPPDU(command: SMPPPDU.genericNack, status: SMPPStatusCode.invalidCommandLength, sequence: number(12)))
      return nil
    }
    guard let body = bytes(length - SMPPPDU.headerBytes) else { return nil }
    return SMPPPDU(command: number(4), status: number(8), sequence: number(12), body: body)
  }

  private func bytes(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var have = 0
    while have < count {
      let received = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + have, count - have, 0) }
      guard received > 0 else { return nil }
      have += received
    }
    return bytes
  }

  /// Whether the session continues.
  @discardableResult private func write(_ pdu: SMPPPDU) -> Bool {
    writing.withLock { _ in
      guard state.withLock({ $0.isOpen }) else { return false }
      let bytes = pdu.bytes
      var have = 0
      while have < bytes.count {
        let sent = bytes.withUnsafeBytes {
          send(descriptor, $0.baseAddress! + have, bytes.count - have, Int32(MSG_NOSIGNAL))
        }
        guard sent > 0 else {
          shutdown(descriptor, Int32(SHUT_RDWR))
          return false
        }
        have += sent
      }
      return true
    }
  }
}
