import CountersignEncoding

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Progress of the import of a file, in a file beside it: an import that is killed goes on from there. Rows behind it
/// may have been brought in, and are brought in again, to the same effect.
struct ImportState: Codable, Equatable {
  let project: String
  let size: Int64
  let changedAt: Int64
  let keepsExisting: Bool
  /// Rows that are done, from the first one.
  var rows = 0
  /// Those of them that were refused.
  var refused = 0
  /// Those of them whose users were there, and stayed as they were.
  var kept = 0

  /// The state before the first row.
  init(of file: String, project: String, keepsExisting: Bool) throws(CommandLineError) {
    var status = stat()
    guard stat(file, &status) == 0 else {
      throw CommandLineError(.noInput, "cannot read \(file): does it exist, and may you read it?")
    }
    self.project = project
    size = Int64(status.st_size)
    changedAt = Int64(status.st_mtim.tv_sec)
    self.keepsExisting = keepsExisting
  }

  static func path(of file: String) -> String { "\(file).import-state" }

  /// Takes over what an import of before has left.
  mutating func resume(from file: String) throws(CommandLineError) {
    let path = Self.path(of: file)
    guard access(path, F_OK) == 0 else { return }
    let left = try? JSONReader.commandLine.decode(ImportState.self, from: try InputFile.read(path))
    guard let left, (left.project, left.size, left.changedAt) == (project, size, changedAt),
      left.keepsExisting == keepsExisting
    else {
      throw CommandLineError(
        .badInput,
        "\(path) is of another project or another choice of --keep-existing, or \(file) has changed since: "
          + "--restart begins with the first row")
    }
    self = left
  }

  func write(beside file: String) throws(CommandLineError) {
    try NewFile.replace(Self.path(of: file), by: Array(JSONValue(encoding: self).json().utf8))
  }

  static func remove(beside file: String) { unlink(path(of: file)) }
}
