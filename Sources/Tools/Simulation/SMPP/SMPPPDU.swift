/// One PDU (SMPP 3.4, 3.2). Read and written apart from the worker's own, which the simulator so checks.
struct SMPPPDU: Sendable {
  static let headerBytes = 16
  /// The longest that is read: a payload of 64 KiB, and as much as the other fields can take.
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

  /// The answer to it.
  func answer(_ status: UInt32, _ body: [UInt8] = []) -> SMPPPDU {
    SMPPPDU(command: command | Self.response, status: status, sequence: sequence, body: body)
  }

  var bytes: [UInt8] {
    [UInt32(Self.headerBytes + body.count), command, status, sequence].flatMap(SMPPFields.bigEndian) + body
  }
}

/// Reads the fields of a body, one after the other.
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

  /// A C-octet string of ASCII, of at most so many bytes with its NUL.
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
