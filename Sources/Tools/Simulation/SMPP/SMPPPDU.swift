/// One PDU (SMPP 3.4, 3.2). Independent of the worker's own code, which the simulator verifies.
struct SMPPPDU: Sendable {
  static let headerBytes = 16
  /// A payload of 64 KiB, and as much again for the other fields.
  static let maxBytes = 0x1_1000

  static let bindTransceiver: UInt32 = 0x09
  static let submit: UInt32 = 0x04
  static let deliver: UInt32 = 0x05
  static let unbind: UInt32 = 0x06
  static let enquireLink: UInt32 = 0x15
  static let genericNack: UInt32 = 0x8000_0000
  static let response: UInt32 = 0x8000_0000

  let command: UInt32
  var status: UInt32 = 0
  let sequence: UInt32
  var body: [UInt8] = []

  var isResponse: Bool { command & Self.response != 0 }

  func answer(_ status: UInt32, _ body: [UInt8] = []) -> SMPPPDU {
    SMPPPDU(command: command | Self.response, status: status, sequence: sequence, body: body)
  }

  var bytes: [UInt8] {
    [UInt32(Self.headerBytes + body.count), command, status, sequence].flatMap(SMPPFields.bigEndian) + body
  }
}

struct SMPPFields {
  private var rest: ArraySlice<UInt8>

  init(_ body: [UInt8]) { rest = body[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func byte() -> UInt8? { rest.popFirst() }

  mutating func number() -> Int? {
    guard let high = byte(), let low = byte() else { return nil }
    return Int(high) << 8 | Int(low)
  }

  mutating func bytes(_ count: Int) -> [UInt8]? {
    guard rest.count >= count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// C-octet string of ASCII. The limit includes its NUL.
  mutating func text(_ limit: Int) -> String? {
    guard let end = rest.prefix(limit).firstIndex(of: 0) else { return nil }
    defer { rest = rest[(end + 1)...] }
    guard rest[..<end].allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
    return String(decoding: rest[..<end], as: UTF8.self)
  }

  static func bigEndian(_ number: UInt32) -> [UInt8] {
    [UInt8(truncatingIfNeeded: number >> 24), UInt8(truncatingIfNeeded: number >> 16)]
      + [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
  }

  static func cString(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }
}
