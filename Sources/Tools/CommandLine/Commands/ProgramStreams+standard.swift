#if canImport(Glibc)
  internal import Glibc
#else
  internal import Musl
#endif

extension ProgramStreams {
  /// Standard output, standard error and standard input of the process.
  public static let standard = ProgramStreams(
    output: { write($0, to: STDOUT_FILENO) }, error: { write($0, to: STDERR_FILENO) },
    input: { () throws(OperationsError) in try readInput() })

  /// Writes all of a text. A reader that has gone away is nobody to complain to.
  private static func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }

  private static func readInput() throws(OperationsError) -> [UInt8] {
    if isatty(STDIN_FILENO) == 1 {
      write("reading the body from the terminal; end it with Ctrl-D\n", to: STDERR_FILENO)
    }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while bytes.count <= InputFile.maxBytes {
      let count = read(STDIN_FILENO, &chunk, chunk.count)
      if count == 0 { return bytes }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw OperationsError(.noInput, "standard input cannot be read") }
      bytes += chunk[..<count]
    }
    throw OperationsError(.badInput, "standard input has more than \(InputFile.maxBytes) bytes")
  }
}
