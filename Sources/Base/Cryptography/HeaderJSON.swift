import CountersignEncoding

/// The JSON of JOSE headers: objects whose members are strings.
enum HeaderJSON {
  /// Headers have a few hundred bytes; with certificates, which this system does not send, some thousands.
  private static let reader = JSONReader(maxBytes: 16 << 10)

  static func members(of json: [UInt8], in text: String) throws(JOSEError) -> ([String: String], others: [String]) {
    // Nearly all headers are flat and plain: reading them so takes a tenth of the time.
    switch FlatJSON.read(json) {
    case .members(let members): return (members, [])
    case .repeatedName: throw JOSEError(.malformed, "the header of the \(text) has a member twice")
    case .somethingElse: break
    }
    // What two readers would take for two different headers is none, at any depth.
    guard !RepeatedNames.areIn(json) else {
      throw JOSEError(.malformed, "the header of the \(text) has a member twice")
    }
    do {
      let members = try reader.decode([String: Member].self, from: json)
      return (members.compactMapValues(\.string), members.filter { $0.value.string == nil }.map(\.key))
    } catch {
      throw JOSEError(.malformed, "the header of the \(text) is not a JSON object")
    }
  }

}

extension HeaderJSON {
  /// A value of any type; only strings are kept.
  private struct Member: Decodable {
    let string: String?

    init(from decoder: any Decoder) throws {
      // The error is dropped on purpose: a value that is not a string is allowed, and ignored.
      string = try? decoder.singleValueContainer().decode(String.self)
    }
  }
}

/// Reads JSON objects of the plainest kind: members that are strings, in ASCII without escapes. Whatever else there may
/// be, it leaves to a real decoder.
enum FlatJSON {
  enum Outcome {
    case members([String: String])
    /// RFC 7516, section 4: the names of a header's members are unique.
    case repeatedName
    case somethingElse
  }

  static func read(_ json: [UInt8]) -> Outcome {
    var scanner = Scanner(json)
    guard scanner.skip("{") else { return .somethingElse }
    var members: [String: String] = [:]
    repeat {
      guard let name = scanner.string(), scanner.skip(":"), let value = scanner.string() else { return .somethingElse }
      guard members.updateValue(value, forKey: name) == nil else { return .repeatedName }
    } while scanner.skip(",")
    guard scanner.skip("}"), scanner.isAtEnd else { return .somethingElse }
    return .members(members)
  }
}

extension FlatJSON {
  private struct Scanner {
    private let json: [UInt8]
    private var index = 0

    init(_ json: [UInt8]) {
      self.json = json
    }

    var isAtEnd: Bool {
      mutating get {
        skipSpace()
        return index == json.count
      }
    }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
      skipSpace()
      guard index < json.count, json[index] == UInt8(ascii: character) else { return false }
      index += 1
      return true
    }

    mutating func string() -> String? {
      guard skip("\"") else { return nil }
      let start = index
      while index < json.count, json[index] != UInt8(ascii: "\"") {
        guard (0x20...0x7E).contains(json[index]), json[index] != UInt8(ascii: "\\") else { return nil }
        index += 1
      }
      guard index < json.count else { return nil }
      defer { index += 1 }
      return String(decoding: json[start..<index], as: UTF8.self)
    }

    private mutating func skipSpace() {
      while index < json.count, [0x20, 0x0A, 0x0D, 0x09].contains(json[index]) { index += 1 }
    }
  }
}

/// Finds members of the same name in one object of a JSON text, at any depth; a decoder would silently keep one of
/// them.
///
/// The text need not be valid: the decoder that follows reports that.
struct RepeatedNames {
  private enum Level {
    case array
    /// The names so far, and whether a name comes next.
    case object(Set<[UInt8]>, expectsName: Bool)
  }

  private var levels: [Level] = []
  private var hasRepeated = false

  /// Whether an object has two members of one name. A name that is written with escapes counts as repeated: it may be
  /// the same as another one; no known library writes header names so.
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
