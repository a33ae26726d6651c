import FoundationEssentials

func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
  let path = FileManager.default.temporaryDirectory.path + "/countersign-tests-\(UUID().uuidString)"
  try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  defer { remove(path) }
  try body(path)
}

private func remove(_ path: String) {
  do {
    try FileManager.default.removeItem(atPath: path)
  } catch {
    print("cannot remove \(path): \(error)")
  }
}

/// Writes a file that only its owner may read.
func write(_ text: String, to path: String, mode: Int = 0o600) throws {
  guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
  else { throw CocoaError(.fileWriteUnknown) }
}
