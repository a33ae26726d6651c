import ServiceRuntime

/// A part of a data file that knows all of its keys.
public protocol KeyedPart: Decodable {
  /// The keys that it reads.
  static var keys: [String] { get }
}

/// A part of a data file in which a key that nothing reads is an error: a misspelt one would silently take no effect.
public struct Strict<Part: KeyedPart>: Decodable {
  /// The content that was read.
  public let part: Part

  /// - Throws: ``UnknownKey`` for a key that the part does not know, and what the part itself throws.
  public init(from decoder: any Decoder) throws {
    for key in try decoder.container(keyedBy: AnyKey.self).allKeys where !Part.keys.contains(key.stringValue) {
      throw UnknownKey(path: decoder.codingPath + [key], nearest: NearestName.of(key.stringValue, among: Part.keys))
    }
    part = try Part(from: decoder)
  }

  private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
  }
}

extension Strict: Sendable where Part: Sendable {}

/// A key of a data file that nothing reads.
public struct UnknownKey: Error {
  /// Its place.
  public let path: [any CodingKey]
  /// The key that was meant, if one is near enough.
  public let nearest: String?
}
