import TestSupport

@testable import SMPP

typealias Instant = ContinuousClock.Instant

enum Sample {
  static let start = Instant.now
  static let bind = BindRequest(systemID: "esme", password: "sesame", systemType: "")

  static func message(_ content: ShortMessage.Content = .whole(Array("hello".utf8))) -> ShortMessage {
    ShortMessage(
      from: ShortMessage.Address(ton: 5, npi: 0, text: "Example"),
      to: ShortMessage.Address(ton: 1, npi: 1, text: "14155550123"), content, dataCoding: 0)
  }

  static func submission(
    _ ticket: UInt64, timeout: Duration = .seconds(10), from now: Instant = start, isPatient: Bool = false
  ) -> Submission {
    Submission(ticket: ticket, message: message(), deadline: now + timeout, isPatient: isPatient)
  }

  static func limits(window: Int = 2, maxWaiting: Int = 100) -> SMPPConfiguration.Limits {
    SMPPConfiguration.Limits(window: window, maxWaiting: maxWaiting)
  }

  static func delivery(
    _ text: String = "", esmClass: UInt8 = 4, parameters: [(UInt16, [UInt8])] = []
  ) -> [UInt8] {
    var body: [UInt8] = [0]
    body += [1, 1] + Array("14155550123".utf8) + [0]
    body += [5, 0] + Array("Example".utf8) + [0]
    body += [esmClass, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(text.utf8.count)] + Array(text.utf8)
    for (tag, value) in parameters {
      body += [UInt8(tag >> 8), UInt8(tag & 0xFF), UInt8(value.count >> 8), UInt8(value.count & 0xFF)] + value
    }
    return body
  }

  static func delivered(_ body: [UInt8]) -> DeliveredMessage? {
    var reader = ByteReader(body[...])
    return DeliveredMessage(&reader)
  }

  static func pdu(_ command: UInt32, status: UInt32 = 0, sequence: UInt32, _ body: [UInt8] = []) -> [UInt8] {
    bytes(UInt32(16 + body.count)) + bytes(command) + bytes(status) + bytes(sequence) + body
  }

  private static func bytes(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian, Array.init) }
}

extension SplitMix {
  mutating func bytes(_ counts: ClosedRange<Int>) -> [UInt8] {
    (0..<Int.random(in: counts, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) }
  }
}
