/// Finds members of the same name in one object of a JSON text, at any depth; a decoder would silently keep one of them.
///
/// The text need not be valid: whoever decodes it afterwards says so.
struct RepeatedNames {
  private enum Level {
    case array
    /// The names so far, and whether a name comes next.
    case object(Set<[UInt8]>, expectsName: Bool)
  }

  private var levels: [Level] = []
  private var hasRepeated = false

  /// Whether an object has two members of one name. A name that is written with escapes counts as repeated: it may be the same as
  /// another one, and nobody writes names of headers so.
  static func areIn(_ json: [UInt8]) -> Bool {
    var names = RepeatedNames()
    var index = 0
    while index < json.count, !names.hasRepeated {
      guard json[index] == quote else {
        names.take(json[index])
        index += 1
        continue
      }
      let end = endOfString(json, from: index + 1)
      names.take(string: json[(index + 1)..<end])
      index = end + 1
    }
    return names.hasRepeated
  }

  /// The place of the closing quote; the end of the text if there is none.
  private static func endOfString(_ json: [UInt8], from start: Int) -> Int {
    var index = start
    while index < json.count, json[index] != quote { index += json[index] == backslash ? 2 : 1 }
    return min(index, json.count)
  }

  private mutating func take(string: ArraySlice<UInt8>) {
    guard case .object(var names, expectsName: true) = levels.last else { return }
    if string.contains(Self.backslash) || !names.insert(Array(string)).inserted { hasRepeated = true }
    levels[levels.count - 1] = .object(names, expectsName: false)
  }

  private mutating func take(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "{"): levels.append(.object([], expectsName: true))
    case UInt8(ascii: "["): levels.append(.array)
    case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = levels.popLast()
    case UInt8(ascii: ","):
      if case .object(let names, _) = levels.last { levels[levels.count - 1] = .object(names, expectsName: true) }
    default: break
    }
  }

  private static let quote = UInt8(ascii: "\"")
  private static let backslash = UInt8(ascii: "\\")
}
