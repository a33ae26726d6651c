package import CountersignTelemetry

/// Writes one JSON object, field by field.
///
/// It writes the bodies that every verification and every job has: the encoder of Foundation takes ten times as long,
/// and these bodies are a third of the coordinator's work. Tests compare them with the encoder's.
package struct JSONObjectWriter {
  private var bytes: [UInt8]
  private var isFirst = true

  package init(reserving count: Int = 512) {
    bytes = []
    bytes.reserveCapacity(count)
    bytes.append(UInt8(ascii: "{"))
  }

  /// The finished object.
  package consuming func finished() -> [UInt8] {
    bytes.append(UInt8(ascii: "}"))
    return bytes
  }

  package mutating func put(_ name: StaticString, _ value: String) {
    key(name)
    string(value)
  }

  /// Omits the field if there is no value.
  package mutating func put(_ name: StaticString, _ value: String?) {
    if let value { put(name, value) }
  }

  package mutating func put(_ name: StaticString, _ value: Int) {
    key(name)
    bytes.append(contentsOf: String(value).utf8)
  }

  package mutating func put(_ name: StaticString, _ value: Bool) {
    key(name)
    bytes.append(contentsOf: (value ? "true" : "false").utf8)
  }

  package mutating func put(_ name: StaticString, _ value: UnixTime) {
    put(name, value.rfc3339)
  }

  /// - Parameter object: a finished object.
  package mutating func put(_ name: StaticString, object: [UInt8]) {
    key(name)
    bytes.append(contentsOf: object)
  }

  /// - Parameters:
  ///   - name: any text; the other methods write names unescaped.
  ///   - value: text.
  package mutating func put(named name: String, _ value: String) {
    key(named: name)
    string(value)
  }

  package mutating func put(named name: String, object: [UInt8]) {
    key(named: name)
    bytes.append(contentsOf: object)
  }

  /// - Parameter literal: JSON: a number, `true`, `false` or `null`.
  package mutating func put(named name: String, literal: String) {
    key(named: name)
    bytes.append(contentsOf: literal.utf8)
  }

  private mutating func separate() {
    if !isFirst { bytes.append(UInt8(ascii: ",")) }
    isFirst = false
  }

  private mutating func key(named name: String) {
    separate()
    string(name)
    bytes.append(UInt8(ascii: ":"))
  }

  private mutating func key(_ name: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    name.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }

  /// RFC 8259, section 7: quotation mark, backslash and control characters are escaped.
  private mutating func string(_ value: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0..<0x20:
        bytes.append(contentsOf: "\\u00".utf8)
        bytes.append(Self.digit(byte >> 4))
        bytes.append(Self.digit(byte & 15))
      default:
        bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func digit(_ nibble: UInt8) -> UInt8 {
    nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
  }
}
