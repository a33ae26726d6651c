/// Objects of a JSON5 text by their keys from the top, for insertions that leave everything else as it is, comments
/// included.
///
/// The text has been read as JSON5 before; of another text the outline is incomplete.
struct JSON5Outline {
  /// Place of an object.
  private struct Place {
    let close: Int
    /// Offset after its last token that is not a comment.
    let end: Int
    /// Whether that token lets another member follow: the opening brace, or a comma.
    let isReady: Bool
  }

  private let text: [UInt8]
  private var places: [[String]: Place] = [:]
  private var position = 0
  /// Offset after the last token.
  private var end = 0

  /// Deeper objects have no place.
  private static let maxDepth = 32

  init(_ text: [UInt8]) {
    self.text = text
    skipSpace()
    value([], depth: 0)
  }

  func has(_ path: [String]) -> Bool { places[path] != nil }

  /// The text with a member added to the object at a path, indented as the object is. `nil` without the object.
  func adding(_ lines: [String], to path: [String]) -> [UInt8]? {
    guard let place = places[path] else { return nil }
    let indent = indentation(at: place.close)
    // A brace on a line of its own keeps it; another one gets a line.
    let lineStart = text[..<place.close].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    let isAlone = text[lineStart..<place.close].allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    let insertion = isAlone ? lineStart : place.close
    let member = lines.map { "\(indent)  \($0)\n" }.joined().dropLast() + ",\n"
    let added = isAlone ? String(member) : "\n\(member)\(indent)"
    let comma = place.isReady ? "" : ","
    return text[..<place.end] + Array(comma.utf8) + text[place.end..<insertion] + Array(added.utf8) + text[insertion...]
  }

  /// Spaces and tabs at the beginning of a line.
  private func indentation(at offset: Int) -> String {
    let start = text[..<offset].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    let blank = text[start..<offset].prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    return String(decoding: blank, as: UTF8.self)
  }

  // MARK: Reading

  private var byte: UInt8? { position < text.count ? text[position] : nil }

  private mutating func value(_ path: [String], depth: Int) {
    switch byte {
    case UInt8(ascii: "{") where depth < Self.maxDepth: object(path, depth: depth)
    case UInt8(ascii: "["), UInt8(ascii: "{"): skipBrackets()
    case UInt8(ascii: "\""), UInt8(ascii: "'"): _ = string()
    default: _ = word()
    }
    end = position
  }

  private mutating func object(_ path: [String], depth: Int) {
    position += 1
    (end, isReady) = (position, true)
    while true {
      skipSpace()
      guard let next = byte else { return }
      if next == UInt8(ascii: "}") { break }
      if next == UInt8(ascii: ",") {
        position += 1
        (end, isReady) = (position, true)
        continue
      }
      let before = position
      let key = next == UInt8(ascii: "\"") || next == UInt8(ascii: "'") ? string() : word()
      skipSpace()
      if byte == UInt8(ascii: ":") { position += 1 }
      skipSpace()
      value(path + [key], depth: depth + 1)
      isReady = false
      // Text that is not JSON5 ends the reading.
      if position == before { return }
    }
    places[path] = Place(close: position, end: end, isReady: isReady)
    position += 1
  }

  private var isReady = true

  /// Passes over a list, or an object that is too deep.
  private mutating func skipBrackets() {
    var depth = 0
    repeat {
      skipSpace()
      switch byte {
      case nil: return
      case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        _ = string()
        continue
      default: break
      }
      position += 1
    } while depth > 0
  }

  /// A text in quotes. Keys with escapes stay as they are written, so that they match none.
  private mutating func string() -> String {
    let quote = byte
    position += 1
    let start = position
    while let next = byte, next != quote { position += next == UInt8(ascii: "\\") ? 2 : 1 }
    let stop = min(position, text.count)
    position = min(position + 1, text.count)
    return String(decoding: text[start..<stop], as: UTF8.self)
  }

  private mutating func word() -> String {
    let start = position
    while let next = byte, !" \t\r\n,:{}[]/\"'".utf8.contains(next) { position += 1 }
    return String(decoding: text[start..<position], as: UTF8.self)
  }

  private mutating func skipSpace() {
    while let next = byte {
      if " \t\r\n".utf8.contains(next) {
        position += 1
      } else if text[position...].starts(with: "//".utf8) {
        while let next = byte, next != UInt8(ascii: "\n") { position += 1 }
      } else if text[position...].starts(with: "/*".utf8) {
        position += 2
        while position < text.count, !text[position...].starts(with: "*/".utf8) { position += 1 }
        position = min(position + 2, text.count)
      } else {
        return
      }
    }
  }
}
