import CCurl

/// Header fields in order. Names are compared without regard to case (RFC 9110, section 5.1).
public struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral {
  private enum Content {
    case fields([(name: String, value: String)])
    /// As libcurl hands them over, without the status line: `Name: value\r\n`. Few are ever looked at, and each would
    /// cost two strings.
    case lines([UInt8])
  }

  private var content: Content

  /// The fields as sent or received.
  public var fields: [(name: String, value: String)] {
    switch content {
    case .fields(let fields): fields
    case .lines(let lines): Self.parse(lines)
    }
  }

  /// Makes a list of fields.
  public init(_ fields: [(name: String, value: String)] = []) { content = .fields(fields) }

  /// The given fields, in order.
  public init(dictionaryLiteral elements: (String, String)...) {
    content = .fields(elements.map { (name: $0.0, value: $0.1) })
  }

  init(lines: [UInt8]) { content = .lines(lines) }

  /// The value of the first field of that name.
  public subscript(_ name: String) -> String? {
    switch content {
    case .fields(let fields): fields.first { Self.isSame($0.name.utf8, name) }?.value
    case .lines(let lines):
      Self.split(lines) { field, value in Self.isSame(field, name) ? String(decoding: value, as: UTF8.self) : nil }
    }
  }

  /// Appends a field. One of the same name stays.
  public mutating func add(name: String, value: String) {
    content = .fields(fields + [(name: name, value: value)])
  }

  private static func isSame(_ a: some Collection<UInt8>, _ b: String) -> Bool {
    a.count == b.utf8.count && zip(a, b.utf8).allSatisfy { lowercase($0) == lowercase($1) }
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 {
    (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
  }
}

extension HTTPHeaders {
  private static func parse(_ lines: [UInt8]) -> [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = []
    let _: Void? = split(lines) { name, value in
      fields.append((name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self)))
      return nil
    }
    return fields
  }

  private static func split<Result>(
    _ lines: [UInt8], _ take: (_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> Result?
  ) -> Result? {
    var rest = lines[...]
    while !rest.isEmpty {
      let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
      let line = rest[..<end]
      rest = rest[end...].dropFirst()
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
      let value = line[(colon + 1)...].drop(while: isSpace)
      let valueEnd = value.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? value.startIndex
      if let result = take(line[..<colon], value[value.startIndex..<valueEnd]) { return result }
    }
    return nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
}

/// Dates in header fields of HTTP (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT` and the two obsolete
/// forms.
public enum HTTPDate {
  /// Longer texts are not dates.
  private static let maxLength = 64

  /// - Returns: seconds since 1970. `nil` when the text is not a date.
  public static func seconds(_ text: String) -> Int64? {
    // All three forms begin with the day of the week. libcurl also reads numbers alone as a date or a time of day.
    guard let first = text.unicodeScalars.first, ("A"..."Z").contains(first), text.utf8.count <= maxLength else {
      return nil
    }
    let time = curl_getdate(text, nil)
    return time == -1 ? nil : Int64(time)
  }
}
