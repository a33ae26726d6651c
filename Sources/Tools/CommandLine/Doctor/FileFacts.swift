#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

struct FileFacts: Sendable {
  /// In bytes.
  let size: Int64
  let isReadableByAll: Bool
  let isWritableByOthers: Bool
  let isWritableByAll: Bool
  let isOwnedByRoot: Bool
  let isOwnedByCaller: Bool

  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    size = Int64(status.st_size)
    isReadableByAll = status.st_mode & S_IROTH != 0
    isWritableByOthers = status.st_mode & (S_IWGRP | S_IWOTH) != 0
    isWritableByAll = status.st_mode & S_IWOTH != 0
    isOwnedByRoot = status.st_uid == 0
    isOwnedByCaller = status.st_uid == geteuid()
  }

  static func freeBytes(_ directory: String) -> Int64? {
    var status = statvfs()
    guard statvfs(directory, &status) == 0 else { return nil }
    return Int64(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize))
  }

  /// Fewer if the file is shorter. `nil` if it cannot be read.
  static func beginning(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = read(descriptor, &bytes, bytes.count)
    return count < 0 ? nil : Array(bytes[..<count])
  }
}
