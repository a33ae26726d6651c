import FoundationEssentials

/// The one door to Foundation's JSON decoder: no other code of the project names that type, and a test sees to it.
///
/// The decoder of Swift 6.3 ends the process when the 513th open bracket is the last byte of a text, and it takes
/// UTF-16 and UTF-32 where the contract says UTF-8. A text is therefore looked through before the decoder sees it.
///
/// A reader is safe to share. Making one costs as much as reading a small text, so keep it.
public struct JSONReader: Sendable {
  /// The language of the texts.
  public enum Syntax: Sendable, Hashable {
    /// RFC 8259: whatever comes from outside.
    case json
    /// JSON5, with comments: the project's own files.
    case json5
  }

  /// Arrays and objects that may stand in each other: several times what the contract, a provider or a file needs. The
  /// decoder's limit is 512.
  public static let maxDepth = 32

  /// The longest text that is read, in bytes.
  public let maxBytes: Int
  /// The language of the texts.
  public let syntax: Syntax
  private let decoder: JSONDecoder

  /// - Parameters:
  ///   - maxBytes: the longest text that is read.
  ///   - syntax: the language of the texts.
  public init(maxBytes: Int, syntax: Syntax = .json) {
    self.maxBytes = maxBytes
    self.syntax = syntax
    decoder = JSONDecoder()
    decoder.allowsJSON5 = syntax == .json5
  }

  /// Reads a text.
  /// - Throws: ``JSONRefusal`` when the decoder may not see it, else what the decoder threw, mostly a `DecodingError`.
  public func decode<Content: Decodable>(_ type: Content.Type, from text: some Collection<UInt8>) throws -> Content {
    try check(text)
    return try decoder.decode(type, from: Data(text))
  }

  /// Reads a text.
  /// - Throws: ``JSONRefusal`` when the decoder may not see it, else what the decoder threw, mostly a `DecodingError`.
  public func decode<Content: Decodable>(_ type: Content.Type, from text: String) throws -> Content {
    try decode(type, from: Array(text.utf8))
  }

  /// Checks all that can be checked before the decoder.
  public func check(_ text: some Collection<UInt8>) throws(JSONRefusal) {
    guard text.count <= maxBytes else { throw .tooLarge(maxBytes: maxBytes) }
    let result = text.withContiguousStorageIfAvailable { bytes in
      Result { () throws(JSONRefusal) in try JSONScan.check(bytes, syntax) }
    }
    if let result { return try result.get() }
    try check(Array(text))
  }
}
