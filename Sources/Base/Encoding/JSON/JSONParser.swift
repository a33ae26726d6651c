/// Parser of a JSON text (RFC 8259) or a JSON5 text, strict and of bounded depth. Of JSON5, white space beyond ASCII,
/// escapes in unquoted names, `Infinity` and `NaN` are refused.
struct JSONParser {
  private let bytes: UnsafeBufferPointer<UInt8>
  private let limits: JSONReader
  private var position = 0
  private var depth = 0
  private var values = 0

  static func value(
    _ bytes: UnsafeBufferPointer<UInt8>, _ limits: JSONReader
  ) throws(JSONRefusal) -> JSONValue {
    guard bytes.count <= limits.maxBytes else { throw .tooLarge(maxBytes: limits.maxBytes) }
    guard !bytes.starts(with: byteOrderMark) else { throw .byteOrderMark }
    var parser = JSONParser(bytes: bytes, limits: limits)
    try parser.checkBytes()
    let value = try parser.value()
    try parser.skipSpace()
    guard parser.position == bytes.count else { throw parser.malformed }
    return value
  }

  private init(bytes: UnsafeBufferPointer<UInt8>, limits: JSONReader) {
    self.bytes = bytes
    self.limits = limits
  }

  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private func checkBytes() throws(JSONRefusal) {
    var isASCII = true
    for byte in bytes {
      guard byte != 0 else { throw .nulByte }
      isASCII = isASCII && byte < 0x80
    }
    guard isASCII || String(validating: bytes, as: UTF8.self) != nil else { throw .notUTF8 }
  }

  private var isJSON5: Bool { limits.syntax == .json5 }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private var line: Int { bytes[..<position].reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 } }

  private var malformed: JSONRefusal { position < bytes.count ? .malformed(line: line) : .endsEarly }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func expect(_ character: Unicode.Scalar) throws(JSONRefusal) {
    try skipSpace()
    guard take(character) else { throw malformed }
  }

  private mutating func value() throws(JSONRefusal) -> JSONValue {
    values += 1
    guard values <= limits.maxValues else { throw .tooManyValues(maxValues: limits.maxValues) }
    try skipSpace()
    switch next {
    case UInt8(ascii: "{"): return .object(try members())
    case UInt8(ascii: "["): return .array(try elements())
    case UInt8(ascii: "\""): return .text(try text())
    case UInt8(ascii: "'") where isJSON5: return .text(try text())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return try number()
    }
  }

  private mutating func word(_ word: String, _ value: JSONValue) throws(JSONRefusal) -> JSONValue {
    guard bytes[position...].starts(with: word.utf8) else { throw malformed }
    position += word.utf8.count
    return value
  }

  // MARK: Objects and arrays

  private mutating func members() throws(JSONRefusal) -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    try elements(until: "}") { parser throws(JSONRefusal) in
      let start = parser.position
      let name = try parser.name()
      try parser.expect(":")
      let value = try parser.value()
      // The first counts.
      if members[name] == nil {
        members[name] = value
        return
      }
      guard parser.limits.allowsRepeatedNames else {
        parser.position = start
        throw .repeatedName(line: parser.line)
      }
    }
    return members
  }

  private mutating func elements() throws(JSONRefusal) -> [JSONValue] {
    var elements: [JSONValue] = []
    try self.elements(until: "]") { parser throws(JSONRefusal) in elements.append(try parser.value()) }
    return elements
  }

  private mutating func elements(
    until end: Unicode.Scalar, _ element: (inout Self) throws(JSONRefusal) -> Void
  ) throws(JSONRefusal) {
    position += 1
    depth += 1
    guard depth <= limits.maxDepth else { throw .tooDeep(maxDepth: limits.maxDepth) }
    defer { depth -= 1 }
    try skipSpace()
    if take(end) { return }
    repeat {
      try element(&self)
      try skipSpace()
      guard take(",") else { return try expect(end) }
      try skipSpace()
    } while !(isJSON5 && take(end))
  }

  private mutating func name() throws(JSONRefusal) -> String {
    if next == UInt8(ascii: "\"") || isJSON5 && next == UInt8(ascii: "'") { return try text() }
    let start = position
    while isJSON5, let byte = next, Self.isOfName(byte, isFirst: position == start) { position += 1 }
    guard position > start else { throw malformed }
    return string(start..<position)
  }

  private static func isOfName(_ byte: UInt8, isFirst: Bool) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "$"),
      UInt8(ascii: "_"), 0x80...:
      true
    default: !isFirst && isDigit(byte)
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  // MARK: Numbers

  private mutating func number() throws(JSONRefusal) -> JSONValue {
    let isNegative = take("-")
    if !isNegative, isJSON5 { _ = take("+") }
    if isJSON5, bytes[position...].starts(with: "0x".utf8) || bytes[position...].starts(with: "0X".utf8) {
      return try hexadecimal(isNegative)
    }
    let whole = digits()
    let hasPoint = take(".")
    let fraction = hasPoint ? digits() : ""
    let isNumber =
      isJSON5 ? !whole.isEmpty || !fraction.isEmpty : !whole.isEmpty && hasPoint == !fraction.isEmpty
    guard isNumber, whole.utf8.count < 2 || whole.utf8.first != UInt8(ascii: "0") else { throw malformed }
    let exponent = try exponent()
    let text = (isNegative ? "-" : "") + (whole.isEmpty ? "0" : whole)
    if fraction.isEmpty, exponent.isEmpty, let number = Int64(text) { return .integer(number) }
    return .number(text + (fraction.isEmpty ? "" : ".\(fraction)") + exponent)
  }

  private mutating func hexadecimal(_ isNegative: Bool) throws(JSONRefusal) -> JSONValue {
    position += 2
    let start = position
    while let byte = next, Hexadecimal.value(of: byte) != nil { position += 1 }
    guard let number = Int64((isNegative ? "-" : "") + string(start..<position), radix: 16) else { throw malformed }
    return .integer(number)
  }

  private mutating func exponent() throws(JSONRefusal) -> String {
    guard take("e") || take("E") else { return "" }
    let sign = take("-") ? "-" : ""
    if sign.isEmpty { _ = take("+") }
    let digits = digits()
    guard !digits.isEmpty else { throw malformed }
    return "e\(sign)\(digits)"
  }

  private mutating func digits() -> String {
    let start = position
    while let byte = next, Self.isDigit(byte) { position += 1 }
    return string(start..<position)
  }

  // MARK: Texts

  private func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  private mutating func text() throws(JSONRefusal) -> String {
    let quote = bytes[position]
    position += 1
    let start = position
    while let byte = next, byte != quote, byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
    if next == quote {
      position += 1
      return string(start..<(position - 1))
    }
    return try text(until: quote, Array(bytes[start..<position]))
  }

  private mutating func text(until quote: UInt8, _ beginning: [UInt8]) throws(JSONRefusal) -> String {
    var content = beginning
    while let byte = next {
      switch byte {
      case quote:
        position += 1
        return String(decoding: content, as: UTF8.self)
      case UInt8(ascii: "\\"): try escape(into: &content)
      case UInt8(ascii: "\t") where isJSON5, 0x20...:
        content.append(byte)
        position += 1
      default: throw malformed
      }
    }
    throw malformed
  }

  private mutating func escape(into content: inout [UInt8]) throws(JSONRefusal) {
    position += 1
    guard let byte = next else { throw malformed }
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(byte)
    case UInt8(ascii: "b"): content.append(0x08)
    case UInt8(ascii: "f"): content.append(0x0C)
    case UInt8(ascii: "n"): content.append(0x0A)
    case UInt8(ascii: "r"): content.append(0x0D)
    case UInt8(ascii: "t"): content.append(0x09)
    case UInt8(ascii: "u"): return content.append(contentsOf: String(Character(try scalar())).utf8)
    default:
      guard isJSON5 else { throw malformed }
      return try escapeOfJSON5(byte, into: &content)
    }
    position += 1
  }

  private mutating func escapeOfJSON5(_ byte: UInt8, into content: inout [UInt8]) throws(JSONRefusal) {
    position += 1
    switch byte {
    case UInt8(ascii: "'"): content.append(byte)
    case UInt8(ascii: "v"): content.append(0x0B)
    case UInt8(ascii: "0"): content.append(0x00)
    case UInt8(ascii: "x"):
      guard let scalar = Unicode.Scalar(try digits(2)) else { throw malformed }
      content.append(contentsOf: String(Character(scalar)).utf8)
    case UInt8(ascii: "\r"): _ = take("\n")
    case UInt8(ascii: "\n"): break
    default:
      position -= 1
      throw malformed
    }
  }

  private mutating func scalar() throws(JSONRefusal) -> Unicode.Scalar {
    position += 1
    var code = try digits(4)
    if (0xD800...0xDBFF).contains(code), take("\\"), take("u") {
      let low = try digits(4)
      guard (0xDC00...0xDFFF).contains(low) else { throw malformed }
      code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
    }
    guard let scalar = Unicode.Scalar(code) else { throw malformed }
    return scalar
  }

  private mutating func digits(_ count: Int) throws(JSONRefusal) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<count {
      guard let digit = next.flatMap(Hexadecimal.value(of:)) else { throw malformed }
      code = code << 4 | UInt32(digit)
      position += 1
    }
    return code
  }

  // MARK: White space and comments

  private mutating func skipSpace() throws(JSONRefusal) {
    while let byte = next {
      switch byte {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      case 0x0B where isJSON5, 0x0C where isJSON5: position += 1
      case UInt8(ascii: "/") where isJSON5: try skipComment()
      default: return
      }
    }
  }

  private mutating func skipComment() throws(JSONRefusal) {
    position += 1
    if take("/") {
      while let byte = next, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { position += 1 }
    } else if take("*") {
      while !(take("*") && next == UInt8(ascii: "/")) {
        guard position < bytes.count else { throw malformed }
        if next != UInt8(ascii: "*") { position += 1 }
      }
      position += 1
    } else {
      throw malformed
    }
  }
}
