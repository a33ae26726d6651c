import Glibc

/// Bytes of a file of any size, of which a row and a chunk are in memory at most.
final class AccountFileBytes {
  /// Maximum length of a row.
  static let longestRow = 65_536

  /// The part that is loaded. Rows before ``start`` are read.
  private(set) var bytes: [UInt8] = []
  private(set) var start = 0
  /// Line of ``start``, from 1.
  private(set) var line = 1
  private(set) var isAtEnd = false
  private var chunk = [UInt8](repeating: 0, count: 262_144)
  private let path: String
  private let descriptor: Int32

  init(path: String) throws(CommandLineError) {
    self.path = path
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw CommandLineError(.noInput, "cannot read \(path): \(String(cString: strerror(errno)))")
    }
    try load()
    guard !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else {
      throw CommandLineError(.badInput, "\(path) starts with a byte order mark; it must be UTF-8 without one")
    }
  }

  deinit { close(descriptor) }

  /// Loads more until a row of any permitted length, or the rest of the file, is there. Blocks.
  func load() throws(CommandLineError) {
    while bytes.count - start <= Self.longestRow, !isAtEnd {
      bytes.removeFirst(start)
      start = 0
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw CommandLineError(.noInput, "cannot read \(path): \(String(cString: strerror(errno)))")
      }
      bytes += chunk[..<count]
      isAtEnd = count == 0
    }
  }

  /// The end of what a row may have, from ``start``.
  var limit: Int { min(bytes.count, start + Self.longestRow) }

  /// Byte at ``start``, if there is one.
  var next: UInt8? { start < bytes.count ? bytes[start] : nil }

  /// Goes on at a later position.
  func skip(to position: Int) {
    line += bytes[start..<position].reduce(0) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
    start = position
  }

  func skip(while isSkipped: (UInt8) -> Bool) throws(CommandLineError) {
    repeat {
      skip(to: bytes[start...].firstIndex { !isSkipped($0) } ?? bytes.count)
      try load()
    } while next.map(isSkipped) == true
  }

  func skipSpace() throws(CommandLineError) {
    try skip { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
  }

  /// Skips a text, and white space of JSON before it.
  func take(_ text: String) throws(CommandLineError) -> Bool {
    try skipSpace()
    guard bytes[start...].starts(with: text.utf8) else { return false }
    skip(to: start + text.utf8.count)
    return true
  }

  func wrong(_ what: String) -> CommandLineError { CommandLineError(.badInput, "\(path), line \(line): \(what)") }
}
