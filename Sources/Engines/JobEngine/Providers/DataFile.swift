import CountersignEncoding
public import FoundationEssentials

/// Reads the small data files that belong to a worker: templates, tables.
public enum DataFile {
  /// Reads a whole file. Blocks, so it is called while the process starts.
  ///
  /// - Throws: `.unreadable` when the file cannot be read or is larger than `maxBytes`.
  public static func read(_ path: String, maxBytes: Int) throws(WorkerSetupError) -> Data {
    let data: Data
    do {
      data = try Data(contentsOf: URL(filePath: path))
    } catch {
      throw WorkerSetupError(.unreadable, "cannot read \(path): check that it exists and that this user may read it")
    }
    guard data.count <= maxBytes else {
      throw WorkerSetupError(.unreadable, "\(path) is larger than \(maxBytes) bytes")
    }
    return data
  }
}

/// Says in one line what a decoder found wrong, without the value that it found.
public enum DecodingText {
  /// - Parameter error: What the decoder threw.
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
      // The key of an object may be a number too; that of an array says so.
      if let index = key.intValue, key.stringValue != "\(index)" {
        path += "[\(index)]"
        return
      }
      path += (path.isEmpty ? "" : ".") + key.stringValue
    }
  }
}
