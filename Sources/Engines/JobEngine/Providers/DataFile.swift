import CountersignEncoding
public import FoundationEssentials
import ServiceRuntime

/// Reads the small data files of a worker: templates, tables.
public enum DataFile {
  /// Reads a whole file. Blocks, so it is called while the process starts.
  ///
  /// - Throws: `.unreadable` when the file cannot be read or is larger than `maxBytes`.
  public static func read(_ path: String, maxBytes: Int) throws(WorkerError) -> Data {
    let data: Data
    do {
      data = try Data(contentsOf: URL(filePath: path))
    } catch {
      throw WorkerError(.unreadable, "cannot read \(path): check that it exists and that this user may read it")
    }
    guard data.count <= maxBytes else {
      throw WorkerError(.unreadable, "\(path) is larger than \(maxBytes) bytes")
    }
    return data
  }
}

/// Description of a decoding error in one line, without the value that was found.
public enum DecodingText {
  /// - Parameter error: error of the decoder.
  public static func describe(_ error: any Error) -> String {
    if let refusal = error as? JSONRefusal { return refusal.description }
    if let unknown = error as? UnknownKey {
      return "\(path(unknown.path)): unknown key" + (unknown.nearest.map { " (did you mean \($0)?)" } ?? "")
    }
    guard let error = error as? DecodingError else { return "cannot be decoded" }
    switch error {
    case .keyNotFound(let key, let context):
      return "\(path(context.codingPath + [key])) is missing"
    case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
      return "\(path(context.codingPath)) is not of type \(type)"
    case .dataCorrupted(let context):
      return context.codingPath.isEmpty ? "is not valid JSON" : "\(path(context.codingPath)) is not valid"
    @unknown default:
      return "cannot be decoded"
    }
  }

  /// `rules[3].class`.
  private static func path(_ keys: [any CodingKey]) -> String {
    keys.reduce(into: "") { path, key in
      // The key of an object may be a number too; only an array's index has another text than its number.
      if let index = key.intValue, key.stringValue != "\(index)" {
        path += "[\(index)]"
        return
      }
      path += (path.isEmpty ? "" : ".") + key.stringValue
    }
  }
}

/// A part of a data file with a closed list of keys.
public protocol KeyedPart: Decodable {
  static var keys: [String] { get }
}

/// A part of a data file in which an unknown key is an error: a misspelled one would silently take no effect.
public struct Strict<Part: KeyedPart>: Decodable {
  /// Content.
  public let part: Part

  /// - Throws: ``UnknownKey`` for a key the part does not know, and errors of the part itself.
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

/// An unknown key of a data file.
public struct UnknownKey: Error {
  /// Place of the key.
  public let path: [any CodingKey]
  /// Likely intended key, if one is near enough.
  public let nearest: String?
}
