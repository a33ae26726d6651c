/// The reason for which a text never reached the JSON decoder. Holds nothing of the text, so it is safe to log and to
/// send back.
public enum JSONRefusal: Error, Sendable, Hashable {
  /// The text is longer than its reader takes.
  case tooLarge(maxBytes: Int)
  /// The bytes are not UTF-8 (RFC 8259, section 8.1).
  case notUTF8
  /// The text starts with a byte order mark, which RFC 8259, section 8.1, forbids.
  case byteOrderMark
  /// A NUL byte: the mark of UTF-16 and UTF-32, which the decoder would otherwise take.
  case nulByte
  /// Arrays and objects stand in each other more than ``JSONReader/maxDepth`` deep.
  case tooDeep
  /// An escape sequence in a string is none of JSON's (RFC 8259, section 7).
  case malformedEscape
}

extension JSONRefusal: CustomStringConvertible {
  /// The rule that the text breaks; goes on after a name of the text: `the body nests deeper than 32 levels`.
  public var description: String {
    switch self {
    case .tooLarge(let maxBytes): "is longer than \(maxBytes) bytes"
    case .notUTF8: "is not UTF-8"
    case .byteOrderMark: "starts with a byte order mark; it must be UTF-8 without one"
    case .nulByte: "holds a NUL byte; it must be UTF-8"
    case .tooDeep: "nests deeper than \(JSONReader.maxDepth) levels"
    case .malformedEscape: "has an invalid escape sequence in a string"
    }
  }
}
