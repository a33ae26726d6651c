/// Reads JSON objects of the plainest kind: members that are strings, in ASCII without escapes. Whatever else there may be, it leaves
/// to a real decoder.
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

    /// - Returns: whether the character is next; then it is behind.
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
