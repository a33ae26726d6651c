import CountersignEncoding

/// Value in the body of a call.
enum CallValue: Sendable, Hashable {
  case null
  case bool(Bool)
  /// A number as written, so that none is too large to be read.
  case number(String)
  case text(String)
  case list([CallValue])
  /// Fields by their names in camelCase.
  case object([String: CallValue])
}

/// Reader of the internet's JSON (RFC 8259): strict, of bounded depth and size, without a decoder whose cost grows with
/// wrong types.
///
/// Refused besides malformed text: the same field twice, in either spelling; NUL in text; half of a surrogate pair.
struct CallJSON {
  private let bytes: [UInt8]
  private var position = 0
  private var values = 0

  /// Reads an object; nothing but white space is an empty one.
  static func object(_ bytes: [UInt8]) throws(ProtocolError) -> [String: CallValue] {
    guard String(validating: bytes, as: UTF8.self) != nil else { throw .badBody("The body is not UTF-8.") }
    var reader = CallJSON(bytes: bytes)
    reader.skipSpace()
    if reader.position == bytes.count { return [:] }
    guard reader.next == UInt8(ascii: "{") else { throw .badBody("The body must be an object.") }
    guard case .object(let fields) = try reader.value(depth: 1) else { throw Self.malformed }
    reader.skipSpace()
    guard reader.position == bytes.count else { throw .badBody("Something follows the object.") }
    return fields
  }

  private init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  private static let malformed = ProtocolError.badBody("It is not well-formed.")

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func value(depth: Int) throws(ProtocolError) -> CallValue {
    guard depth <= CallLimits.maxDepth else {
      throw .badBody("It nests deeper than \(CallLimits.maxDepth) levels.")
    }
    values += 1
    guard values <= CallLimits.maxValues else {
      throw .badBody("It has more than \(CallLimits.maxValues) values.")
    }
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return .object(try fields(depth: depth))
    case UInt8(ascii: "["): return .list(try list(depth: depth))
    case UInt8(ascii: "\""): return .text(try text())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return .number(try number())
    }
  }

  private mutating func fields(depth: Int) throws(ProtocolError) -> [String: CallValue] {
    position += 1
    var fields: [String: CallValue] = [:]
    if take("}") { return fields }
    repeat {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw Self.malformed }
      let name = FieldSpelling.camelCase(try text())
      guard take(":") else { throw Self.malformed }
      let content = try value(depth: depth + 1)
      guard fields.updateValue(content, forKey: name) == nil else { throw .badBody("A field is given twice.") }
    } while take(",")
    guard take("}") else { throw Self.malformed }
    return fields
  }

  private mutating func list(depth: Int) throws(ProtocolError) -> [CallValue] {
    position += 1
    var list: [CallValue] = []
    if take("]") { return list }
    repeat { list.append(try value(depth: depth + 1)) } while take(",")
    guard take("]") else { throw Self.malformed }
    return list
  }

  private mutating func word(_ word: String, _ value: CallValue) throws(ProtocolError) -> CallValue {
    guard bytes[position...].starts(with: word.utf8) else { throw Self.malformed }
    position += word.utf8.count
    return value
  }

  // MARK: Numbers

  private mutating func number() throws(ProtocolError) -> String {
    let start = position
    if next == UInt8(ascii: "-") { position += 1 }
    let leading = next
    let whole = skipDigits()
    guard whole == 1 || whole > 1 && leading != UInt8(ascii: "0") else { throw Self.malformed }
    if next == UInt8(ascii: ".") {
      position += 1
      guard skipDigits() > 0 else { throw Self.malformed }
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      position += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
      guard skipDigits() > 0 else { throw Self.malformed }
    }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func skipDigits() -> Int {
    let start = position
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
    return position - start
  }

  // MARK: Texts

  private mutating func text() throws(ProtocolError) -> String {
    position += 1
    var content: [UInt8] = []
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: content, as: UTF8.self)
      case UInt8(ascii: "\\"): try escape(into: &content)
      case 0..<0x20: throw Self.malformed
      default: content.append(byte)
      }
    }
    throw Self.malformed
  }

  private mutating func escape(into content: inout [UInt8]) throws(ProtocolError) {
    guard let byte = next else { throw Self.malformed }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(byte)
    case UInt8(ascii: "b"): content.append(0x08)
    case UInt8(ascii: "f"): content.append(0x0C)
    case UInt8(ascii: "n"): content.append(0x0A)
    case UInt8(ascii: "r"): content.append(0x0D)
    case UInt8(ascii: "t"): content.append(0x09)
    case UInt8(ascii: "u"): content += Array(String(Character(try scalar())).utf8)
    default: throw Self.malformed
    }
  }

  private mutating func scalar() throws(ProtocolError) -> Unicode.Scalar {
    var code = try fourDigits()
    if (0xD800...0xDBFF).contains(code) {
      guard bytes[position...].starts(with: "\\u".utf8) else { throw Self.malformed }
      position += 2
      let low = try fourDigits()
      guard (0xDC00...0xDFFF).contains(low) else { throw Self.malformed }
      code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
    }
    guard code != 0 else { throw .badBody("A text holds NUL.") }
    guard let scalar = Unicode.Scalar(code) else { throw Self.malformed }
    return scalar
  }

  private mutating func fourDigits() throws(ProtocolError) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = next.flatMap(Hexadecimal.value) else { throw Self.malformed }
      code = code << 4 | UInt32(digit)
      position += 1
    }
    return code
  }
}

/// The two spellings of a field's name.
enum FieldSpelling {
  /// `phone_number` as `phoneNumber`; other names as they are.
  static func camelCase(_ name: String) -> String {
    guard name.utf8.contains(UInt8(ascii: "_")) else { return name }
    let words = name.split(separator: "_", omittingEmptySubsequences: false)
    guard let first = words.first, words.allSatisfy({ !$0.isEmpty }) else { return name }
    return words.dropFirst().reduce(into: String(first)) { result, word in
      result += word.prefix(1).uppercased() + word.dropFirst()
    }
  }
}
