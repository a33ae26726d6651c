/// The members of a plain JSON object, as nearly all messages are: texts without escapes, whole numbers, literals, and
/// objects of those. Read in one pass, ten times as fast as by the decoder.
///
/// A text that is not plain or not valid has no `PlainJSON`: ``JSONReader`` then reads it, or reports what is wrong.
package struct PlainJSON {
  /// Value other than an object.
  package enum Scalar {
    case text(String)
    case integer(Int)
    case bool(Bool)
  }

  private enum Content {
    case text(Range<Int>)
    case integer(Int)
    case bool(Bool)
    case null
    case object(PlainJSON)
  }

  private struct Member {
    var name: Range<Int>
    var content: Content
  }

  private static let maxDepth = 3
  /// Members that an object may have: names are compared with each other, so the work grows with the square.
  private static let maxMembers = 32

  private let json: [UInt8]
  private var members: [Member] = []

  /// - Parameters:
  ///   - json: text in UTF-8.
  ///   - maxBytes: length up to which a text is read here; the decoder refuses a longer one with the reason.
  /// - Returns: `nil` when it is not an object, or not a plain one.
  package init?(_ json: [UInt8], maxBytes: Int) {
    guard json.count <= maxBytes else { return nil }
    var position = 0
    guard let object = Self.object(in: json, at: &position, depth: 1) else { return nil }
    Self.skipSpace(json, &position)
    guard position == json.count else { return nil }
    self = object
  }

  private init(json: [UInt8]) {
    self.json = json
    members.reserveCapacity(12)
  }

  /// The text of a member. `nil` when it is something else or absent.
  package func text(_ name: StaticString) -> String? {
    guard case .text(let range) = content(name) else { return nil }
    return string(range)
  }

  /// The number of a member. `nil` when it is something else or absent.
  package func integer(_ name: StaticString) -> Int? {
    guard case .integer(let number) = content(name) else { return nil }
    return number
  }

  /// The object of a member. `nil` when it is something else or absent.
  package func object(_ name: StaticString) -> PlainJSON? {
    guard case .object(let object) = content(name) else { return nil }
    return object
  }

  /// Whether a member is present and not null.
  package func has(_ name: StaticString) -> Bool {
    switch content(name) {
    case nil, .null: false
    default: true
    }
  }

  /// Whether each of these members is a text, null or absent.
  package func areTextsOrAbsent(_ names: StaticString...) -> Bool {
    names.allSatisfy { name in
      switch content(name) {
      case nil, .null, .text: true
      default: false
      }
    }
  }

  /// Members that are neither null nor an object, in their order.
  package var scalars: [(name: String, value: Scalar)] {
    members.compactMap { member in
      let name = string(member.name)
      switch member.content {
      case .text(let range): return (name, .text(string(range)))
      case .integer(let number): return (name, .integer(number))
      case .bool(let flag): return (name, .bool(flag))
      case .null, .object: return nil
      }
    }
  }

  /// Members as texts, by their names. `nil` when one of them is something else, or two names are alike to Unicode.
  package var texts: [String: String]? {
    var texts: [String: String] = [:]
    for member in members {
      guard case .text(let range) = member.content,
        texts.updateValue(string(range), forKey: string(member.name)) == nil
      else { return nil }
    }
    return texts
  }

  private func content(_ name: StaticString) -> Content? {
    members.first { member in
      member.name.count == name.utf8CodeUnitCount
        && name.withUTF8Buffer { json[member.name].elementsEqual($0) }
    }?.content
  }

  /// ``text(_:_:)`` has seen that it is UTF-8.
  private func string(_ range: Range<Int>) -> String { String(decoding: json[range], as: UTF8.self) }
}

// MARK: - Reading (RFC 8259)

extension PlainJSON {
  private static func object(in json: [UInt8], at position: inout Int, depth: Int) -> PlainJSON? {
    guard depth <= maxDepth, take("{", json, &position) else { return nil }
    var object = PlainJSON(json: json)
    if take("}", json, &position) { return object }
    repeat {
      guard object.members.count < maxMembers, take("\"", json, &position), let name = text(json, &position),
        !object.members.contains(where: { json[$0.name].elementsEqual(json[name]) }),
        take(":", json, &position), let content = content(json, &position, depth)
      else { return nil }
      object.members.append(Member(name: name, content: content))
    } while take(",", json, &position)
    return take("}", json, &position) ? object : nil
  }

  private static func content(_ json: [UInt8], _ position: inout Int, _ depth: Int) -> Content? {
    skipSpace(json, &position)
    guard position < json.count else { return nil }
    switch json[position] {
    case UInt8(ascii: "\""):
      position += 1
      return text(json, &position).map(Content.text)
    case UInt8(ascii: "{"): return object(in: json, at: &position, depth: depth + 1).map(Content.object)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return integer(json, &position).map(Content.integer)
    case UInt8(ascii: "t"): return takeWord("true", json, &position) ? .bool(true) : nil
    case UInt8(ascii: "f"): return takeWord("false", json, &position) ? .bool(false) : nil
    case UInt8(ascii: "n"): return takeWord("null", json, &position) ? .null : nil
    default: return nil
    }
  }

  /// The text up to the next quotation mark. `nil` when a copy of it would not do. The position is then behind the
  /// mark.
  private static func text(_ json: [UInt8], _ position: inout Int) -> Range<Int>? {
    let start = position
    var isASCII = true
    while position < json.count {
      let byte = json[position]
      if byte == UInt8(ascii: "\"") {
        let range = start..<position
        position += 1
        return isASCII || String(validating: json[range], as: UTF8.self) != nil ? range : nil
      }
      guard byte >= 0x20, byte != UInt8(ascii: "\\") else { return nil }
      isASCII = isASCII && byte < 0x80
      position += 1
    }
    return nil
  }

  /// A whole number that surely fits. One with a fraction or an exponent is not plain.
  private static func integer(_ json: [UInt8], _ position: inout Int) -> Int? {
    let isNegative = json[position] == UInt8(ascii: "-")
    if isNegative { position += 1 }
    let start = position
    var number = 0
    while position < json.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(json[position]) {
      guard position - start < maxDigits else { return nil }
      number = number * 10 + Int(json[position] - UInt8(ascii: "0"))
      position += 1
    }
    let digits = position - start
    guard digits > 0, digits == 1 || json[start] != UInt8(ascii: "0") else { return nil }
    if position < json.count, [UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E")].contains(json[position]) {
      return nil
    }
    return isNegative ? -number : number
  }

  private static let maxDigits = 15

  private static func take(_ character: Unicode.Scalar, _ json: [UInt8], _ position: inout Int) -> Bool {
    skipSpace(json, &position)
    guard position < json.count, json[position] == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private static func takeWord(_ word: StaticString, _ json: [UInt8], _ position: inout Int) -> Bool {
    let end = position + word.utf8CodeUnitCount
    guard end <= json.count, word.withUTF8Buffer({ json[position..<end].elementsEqual($0) }) else { return false }
    position = end
    return true
  }

  private static func skipSpace(_ json: [UInt8], _ position: inout Int) {
    while position < json.count {
      switch json[position] {
      case 0x20, 0x0A, 0x0D, 0x09: position += 1
      default: return
      }
    }
  }
}
