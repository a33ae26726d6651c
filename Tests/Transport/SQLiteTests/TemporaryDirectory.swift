import Glibc

func withTemporaryDirectory<T>(_ body: (String) async throws -> T) async throws -> T {
  var template = Array("/tmp/countersign-test-XXXXXX".utf8CString)
  guard let made = mkdtemp(&template) else { throw TemporaryDirectoryError(number: errno) }
  let path = String(cString: made)
  defer { remove(path) }
  return try await body(path)
}

struct TemporaryDirectoryError: Error {
  let number: Int32
}

private func remove(_ path: String) {
  chmod(path, 0o700)
  if let directory = opendir(path) {
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { unlink("\(path)/\(name)") }
    }
    closedir(directory)
  }
  rmdir(path)
}

func fileSize(_ path: String) -> Int {
  var status = stat()
  return stat(path, &status) == 0 ? Int(status.st_size) : 0
}

func fileMode(_ path: String) -> UInt32 {
  var status = stat()
  return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
}

func writeFile(_ path: String, _ bytes: [UInt8], at offset: Int = 0) {
  let descriptor = open(path, O_WRONLY | O_CREAT, 0o644)
  _ = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
  close(descriptor)
}
