import Glibc

func withTemporaryDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  var template = Array("/tmp/countersign-worker-XXXXXX".utf8CString)
  guard mkdtemp(&template) != nil else { throw TemporaryDirectoryError(code: errno) }
  let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  defer { removeDirectory(path) }
  return try await body(path)
}

struct TemporaryDirectoryError: Error {
  var code: Int32
}

private func removeDirectory(_ path: String) {
  guard let directory = opendir(path) else { return }
  while let entry = readdir(directory) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
      pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if name != ".", name != ".." { unlink("\(path)/\(name)") }
  }
  closedir(directory)
  rmdir(path)
}
