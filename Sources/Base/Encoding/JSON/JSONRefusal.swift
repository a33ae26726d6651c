/// The reason for which a text is not read. Holds nothing of the text, so it is safe to log and to send back.
public enum JSONRefusal: Error, Sendable, Hashable {
  /// The text is longer than its reader takes.
  case tooLarge(maxBytes: Int)
  /// The bytes are not UTF-8 (RFC 8259, section 8.1).
  case notUTF8
  /// The text starts with a byte order mark, which RFC 8259, section 8.1, forbids.
  case byteOrderMark
  /// A NUL byte: the mark of UTF-16 and UTF-32.
  case nulByte
  /// Arrays and objects stand in each other more than so many levels deep.
  case tooDeep(maxDepth: Int)
  /// The text has more than so many values, those in arrays and objects included.
  case tooManyValues(maxValues: Int)
  /// Two members of one object have the same name: readers would take different ones. The line, from 1, of the second.
  case repeatedName(line: Int)
  /// The text breaks the syntax in a line, from 1.
  case malformed(line: Int)
  /// Nothing is in the text, or it ends before everything in it is closed.
  case endsEarly
}

extension JSONRefusal: CustomStringConvertible {
  /// The rule that the text breaks. Goes on after a name of the text: `the body nests deeper than 32 levels`.
  public var description: String {
    switch self {
    case .tooLarge(let maxBytes): "is longer than \(maxBytes) bytes"
    case .notUTF8: "is not UTF-8"
    case .byteOrderMark: "starts with a byte order mark; it must be UTF-8 without one"
    case .nulByte: "holds a NUL byte; it must be UTF-8"
    case .tooDeep(let maxDepth): "nests deeper than \(maxDepth) levels"
    case .tooManyValues(let maxValues): "has more than \(maxValues) values"
    case .repeatedName(let line): "has a name twice in one object (line \(line))"
    case .malformed(let line): "is not valid JSON (line \(line))"
    case .endsEarly: "is empty or ends before everything in it is closed"
    }
  }
}
