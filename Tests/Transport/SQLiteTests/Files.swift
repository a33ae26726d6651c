import Glibc

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
