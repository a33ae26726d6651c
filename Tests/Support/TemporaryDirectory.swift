import FoundationEssentials

/// A directory of its own, which goes with the object.
public final class TemporaryDirectory: Sendable {
  public let path: String

  public init() throws {
    path = FileManager.default.temporaryDirectory.path + "/countersign-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  // A directory that stays behind harms no test.
  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file.
  /// - Parameters:
  ///   - name: its path below the directory.
  ///   - mode: its permissions; by default only its owner may read it.
  /// - Returns: its path.
  @discardableResult
  public func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
    let file = "\(path)/\(name)"
    try Data(text.utf8).write(to: URL(filePath: file))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    return file
  }

  /// Makes a symbolic link below the directory.
  public func link(_ name: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: "\(path)/\(name)", withDestinationPath: target)
  }
}

/// Lends a directory that is gone afterwards.
public func withTemporaryDirectory<T>(_ body: (String) async throws -> T) async throws -> T {
  let directory = try TemporaryDirectory()
  defer { withExtendedLifetime(directory) {} }
  return try await body(directory.path)
}
