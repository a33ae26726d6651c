/// Header fields in order. Names are compared without regard to case (RFC 9110, section 5.1).
public struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral {
  /// The fields as sent or received.
  public private(set) var fields: [(name: String, value: String)]

  /// Makes a list of fields.
  public init(_ fields: [(name: String, value: String)] = []) { self.fields = fields }

  /// The given fields, in order.
  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { (name: $0.0, value: $0.1) }
  }

  /// The value of the first field of that name.
  public subscript(_ name: String) -> String? {
    fields.first { Self.isSame($0.name, name) }?.value
  }

  /// Appends a field; one of the same name stays.
  public mutating func add(name: String, value: String) {
    fields.append((name: name, value: value))
  }

  private static func isSame(_ a: String, _ b: String) -> Bool {
    a.utf8.count == b.utf8.count && zip(a.utf8, b.utf8).allSatisfy { lowercase($0) == lowercase($1) }
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 {
    (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
  }
}

extension HTTPHeaders {
  /// Reads the lines that libcurl hands over, without the status line: `Name: value\r\n`.
  init(lines: [UInt8]) {
    self.init(
      lines.split(separator: UInt8(ascii: "\n")).compactMap { line in
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let value = line[(colon + 1)...].drop(while: Self.isSpace)
        let end = value.lastIndex { !Self.isSpace($0) }.map { $0 + 1 } ?? value.startIndex
        return (
          name: String(decoding: line[..<colon], as: UTF8.self),
          value: String(decoding: value[value.startIndex..<end], as: UTF8.self)
        )
      })
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
}
