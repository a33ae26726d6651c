import FoundationEssentials
import TestSupport

func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
  let directory = try TemporaryDirectory()
  defer { withExtendedLifetime(directory) {} }
  try body(directory.path)
}

func write(_ text: String, to path: String, mode: Int = 0o600) throws {
  guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
  else { throw CocoaError(.fileWriteUnknown) }
}
