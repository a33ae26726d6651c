import CountersignEncoding

enum FieldSpelling {
  /// Fields whose value names no fields, but the parameters of an address.
  private static let maps: Set = ["customParameter"]

  /// `phone_number` as `phoneNumber`. Other names as they are.
  static func camelCase(_ name: String) -> String {
    guard name.utf8.contains(UInt8(ascii: "_")) else { return name }
    let words = name.split(separator: "_", omittingEmptySubsequences: false)
    guard let first = words.first, words.allSatisfy({ !$0.isEmpty }) else { return name }
    return words.dropFirst().reduce(into: String(first)) { result, word in
      result += word.prefix(1).uppercased() + word.dropFirst()
    }
  }

  /// A value whose fields are named in camelCase, without NUL in a text, and without a field in both spellings.
  static func camelCase(_ value: JSONValue) throws(ProtocolError) -> JSONValue {
    switch value {
    case .object(let fields): return .object(try camelCase(fields))
    case .array(let values):
      return .array(try values.map { value throws(ProtocolError) in try camelCase(value) })
    case .text(let text) where text.utf8.contains(0): throw .badBody("A text holds NUL.")
    default: return value
    }
  }

  static func camelCase(_ fields: [String: JSONValue]) throws(ProtocolError) -> [String: JSONValue] {
    var spelled: [String: JSONValue] = [:]
    for (name, value) in fields {
      let (name, spelling) = (camelCase(name), try camelCase(value))
      guard spelled.updateValue(maps.contains(name) ? value : spelling, forKey: name) == nil else {
        throw .badBody("A field is given twice.")
      }
    }
    return spelled
  }
}
