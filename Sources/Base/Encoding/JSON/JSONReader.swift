import FoundationEssentials

/// The only user of Foundation's JSON decoder, held by a test.
///
/// The decoder of Swift 6.3 ends the process when the 513th open bracket is the last byte of a text, and accepts UTF-16
/// and UTF-32. A text is therefore checked first.
///
/// Safe to share. Keep it: making one costs as much as reading a small text.
public struct JSONReader: Sendable {
  /// The language of the texts.
  public enum Syntax: Sendable, Hashable {
    /// RFC 8259: whatever comes from outside.
    case json
    /// JSON5, with comments: the project's own files.
    case json5
  }

  /// Arrays and objects that may stand in each other: several times what the contract, a provider or a file needs.
  public static let maxDepth = 32

  /// The longest text that is read, in bytes.
  public let maxBytes: Int
  /// The language of the texts.
  public let syntax: Syntax
  let allowsRepeatedNames: Bool
  let maxDepth: Int
  let maxValues: Int
  private let decoder = JSONDecoder()

  /// - Parameters:
  ///   - maxBytes: the longest text that is read.
  ///   - syntax: the language of the texts.
  ///   - allowsRepeatedNames: whether an object may have a name twice: answers of servers, some of which do so, must not
  ///     be lost for it.
  public init(maxBytes: Int, syntax: Syntax = .json, allowsRepeatedNames: Bool = false) {
    self.init(
      maxBytes: maxBytes, maxDepth: Self.maxDepth, maxValues: .max, syntax: syntax,
      allowsRepeatedNames: allowsRepeatedNames)
  }

  /// A reader of texts with fewer levels, or a bounded number of values.
  package init(
    maxBytes: Int, maxDepth: Int, maxValues: Int, syntax: Syntax = .json, allowsRepeatedNames: Bool = false
  ) {
    self.maxBytes = maxBytes
    self.syntax = syntax
    self.allowsRepeatedNames = allowsRepeatedNames
    self.maxDepth = maxDepth
    self.maxValues = maxValues
  }

  /// Reads a text.
  /// - Throws: ``JSONRefusal`` when the text is not valid, else what the decoder threw, mostly a `DecodingError`.
  public func decode<Content: Decodable>(_ type: Content.Type, from text: some Collection<UInt8>) throws -> Content {
    let value = try value(of: text)
    // The decoder never sees JSON5.
    return try decoder.decode(type, from: syntax == .json ? Data(text) : Data(value.json().utf8))
  }

  /// Reads a text.
  /// - Throws: ``JSONRefusal`` when the text is not valid, else what the decoder threw, mostly a `DecodingError`.
  public func decode<Content: Decodable>(_ type: Content.Type, from text: String) throws -> Content {
    try decode(type, from: Array(text.utf8))
  }

  /// Reads a text of any shape, without the decoder.
  package func value(of text: some Collection<UInt8>) throws(JSONRefusal) -> JSONValue {
    let result = text.withContiguousStorageIfAvailable { bytes in
      Result { () throws(JSONRefusal) in try JSONParser.value(bytes, self) }
    }
    if let result { return try result.get() }
    return try value(of: Array(text))
  }
}
