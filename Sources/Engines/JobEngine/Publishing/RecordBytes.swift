import CountersignMessages

/// Writes the parts of a record in sequence: numbers in as few bytes as they need (LEB128), texts after their length.
struct RecordWriter {
  private(set) var bytes: [UInt8]

  init(version: UInt8) {
    bytes = [version]
    bytes.reserveCapacity(128)
  }

  mutating func put(_ byte: UInt8) { bytes.append(byte) }

  mutating func put(_ number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// With the sign in the lowest bit, so that small numbers are short whatever their sign.
  mutating func put(signed number: Int64) { put(UInt64(bitPattern: (number << 1) ^ (number >> 63))) }

  mutating func put(_ text: String) { put(Array(text.utf8)) }

  mutating func put(_ text: [UInt8]) {
    put(UInt64(text.count))
    bytes.append(contentsOf: text)
  }
}

/// Reads the format of ``RecordWriter``. A record that is truncated or malformed is an error, never a trap: a file may
/// be torn.
struct RecordReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func byte() throws(ContractProblem) -> UInt8 {
    guard let byte = rest.popFirst() else { throw Self.damaged }
    return byte
  }

  mutating func number() throws(ContractProblem) -> UInt64 {
    var number: UInt64 = 0
    for shift in stride(from: 0, to: 64, by: 7) {
      let byte = try byte()
      let part = UInt64(byte & 0x7F)
      guard (part << shift) >> shift == part else { throw Self.damaged }
      number |= part << shift
      if byte < 0x80 { return number }
    }
    throw Self.damaged
  }

  mutating func signed() throws(ContractProblem) -> Int64 {
    let number = try number()
    return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
  }

  mutating func bytes() throws(ContractProblem) -> [UInt8] {
    let count = try number()
    guard count <= UInt64(rest.count) else { throw Self.damaged }
    defer { rest = rest.dropFirst(Int(count)) }
    return Array(rest.prefix(Int(count)))
  }

  mutating func text() throws(ContractProblem) -> String {
    guard let text = String(validating: try bytes(), as: UTF8.self) else { throw Self.damaged }
    return text
  }

  static let damaged = ContractProblem(
    .unreadableRecord,
    "ended before, but the ledger's record of its outcome cannot be read: a newer version wrote it, or it is damaged")
}

extension ContractProblem.Code {
  /// The ledger has the end of the job, but it is unreadable.
  static let unreadableRecord = ContractProblem.Code("UNREADABLE_RECORD")
}
