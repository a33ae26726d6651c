internal import FoundationEssentials

/// Files that are named on the command line.
public enum InputFile {
  /// Most bytes of standard input; more than any message may have, so that one that is too long is called so.
  public static let maxBytes = 1_048_576

  /// Reads a file.
  /// - Parameter limit: most bytes it may have.
  /// - Throws: ``OperationsError/Code-swift.struct/noInput`` when it cannot be read or is too long.
  static func read(_ path: String, limit: Int = maxBytes) throws(OperationsError) -> [UInt8] {
    let data: Data
    do {
      data = try Data(contentsOf: URL(filePath: path))
    } catch {
      throw OperationsError(.noInput, "cannot read \(path): does it exist, and may you read it?")
    }
    guard data.count <= limit else {
      throw OperationsError(.noInput, "\(path) has \(data.count) bytes; at most \(limit) are taken")
    }
    return Array(data)
  }
}
