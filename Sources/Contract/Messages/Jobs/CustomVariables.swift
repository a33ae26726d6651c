import CountersignEncoding

/// Limits of the values of variables of one's own: in a message by their names, in templates beside the built-in ones.
public enum CustomVariables {
  /// Maximum number of values in one message.
  public static let maxCount = 8
  /// Maximum characters of a name.
  public static let maxNameLength = 32
  /// Maximum characters of a value, in Unicode scalars. A declaration may allow fewer.
  public static let maxValueLength = 200

  /// Whether a text may be the name of a variable: a letter of ASCII, then letters and digits.
  public static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, (1...maxNameLength).contains(text.utf8.count) else { return false }
    return isLetter(first) && text.utf8.allSatisfy { isLetter($0) || isDigit($0) }
  }

  /// Whether a text may be a value at all: a declaration of the templates may demand more.
  public static func isValue(_ text: String) -> Bool {
    (1...maxValueLength).contains(text.unicodeScalars.count)
      && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

extension CustomVariables {
  /// `nil`: the decoder has to name the problem.
  static func read(_ name: StaticString, of json: PlainJSON) -> OptionalField<[String: String]>? {
    guard json.has(name) else { return OptionalField(value: nil) }
    return json.object(name)?.texts.map { OptionalField(value: $0) }
  }

  static func fastJSON(_ values: [String: String]) -> [UInt8] {
    var text = JSONObjectWriter()
    for (name, value) in values.sorted(by: { $0.key < $1.key }) { text.put(named: name, value) }
    return text.finished()
  }
}
