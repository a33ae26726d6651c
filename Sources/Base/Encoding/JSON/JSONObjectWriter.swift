/// Writes one JSON object, field by field.
///
/// For bodies that every verification and every job has: Foundation's encoder costs ten times as much, and these bodies
/// are a third of the coordinator's work. Tests compare what it writes with the types that read it.
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

  /// - Parameter name: written as it is: nothing in it needs an escape.
  package mutating func put(_ name: StaticString, _ value: String) {
    key(name)
    JSONString.append(value, to: &bytes)
  }

  /// Leaves the field out when there is no value.
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

  /// - Parameter object: a finished object.
  package mutating func put(_ name: StaticString, object: [UInt8]) {
    key(name)
    bytes.append(contentsOf: object)
  }

  /// - Parameter name: any text. It is escaped.
  package mutating func put(named name: String, _ value: String) {
    key(named: name)
    JSONString.append(value, to: &bytes)
  }

  /// - Parameters:
  ///   - name: any text; it is escaped.
  ///   - object: a finished object.
  package mutating func put(named name: String, object: [UInt8]) {
    key(named: name)
    bytes.append(contentsOf: object)
  }

  /// - Parameters:
  ///   - name: any text; it is escaped.
  ///   - list: finished values.
  package mutating func put(named name: String, list: [[UInt8]]) {
    key(named: name)
    bytes.append(UInt8(ascii: "["))
    bytes.append(contentsOf: list.joined(separator: [UInt8(ascii: ",")]))
    bytes.append(UInt8(ascii: "]"))
  }

  /// - Parameter name: any text. It is escaped.
  package mutating func put(named name: String, texts: [String]) {
    put(named: name, list: texts.map { Array(JSONString.quote($0).utf8) })
  }

  /// - Parameters:
  ///   - name: any text; it is escaped.
  ///   - literal: JSON: a number, `true`, `false` or `null`.
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
    JSONString.append(name, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
  }

  private mutating func key(_ name: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    name.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }
}

/// String literals of JSON (RFC 8259, section 7): quotation mark, backslash and control characters are escaped.
public enum JSONString {
  /// A text as a literal, with its quotation marks.
  public static func quote(_ text: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count + 2)
    append(text, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// `null` when there is no text.
  public static func quote(_ text: String?) -> String { text.map { quote($0) } ?? "null" }

  /// Appends a text as a literal, with its quotation marks.
  public static func append(_ text: String, to json: inout [UInt8]) {
    json.append(UInt8(ascii: "\""))
    if text.utf8.contains(where: mustEscape) {
      for byte in text.utf8 { append(byte, to: &json) }
    } else {
      json.append(contentsOf: text.utf8)
    }
    json.append(UInt8(ascii: "\""))
  }

  private static func append(_ byte: UInt8, to json: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"):
      json.append(UInt8(ascii: "\\"))
      json.append(byte)
    case 0..<0x20:
      json.append(contentsOf: "\\u00".utf8)
      json.append(Hexadecimal.digit(byte >> 4))
      json.append(Hexadecimal.digit(byte & 15))
    default: json.append(byte)
    }
  }

  private static func mustEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }
}
