import FoundationEssentials

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Standard output, standard error and standard input of a program.
public struct ProgramStreams: Sendable {
  let output: @Sendable (String) -> Void
  let error: @Sendable (String) -> Void
  let input: @Sendable () throws(CommandLineError) -> [UInt8]
}

extension ProgramStreams {
  /// The streams of the process.
  public static let standard = ProgramStreams(
    output: { write($0, to: STDOUT_FILENO) }, error: { write($0, to: STDERR_FILENO) },
    input: { () throws(CommandLineError) in try readInput() })

  /// Writes all of a text, unless its reader has gone away.
  private static func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }

  private static func readInput() throws(CommandLineError) -> [UInt8] {
    if isatty(STDIN_FILENO) == 1 {
      write("reading the body from the terminal; end it with Ctrl-D\n", to: STDERR_FILENO)
    }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while bytes.count <= InputFile.maxBytes {
      let count = read(STDIN_FILENO, &chunk, chunk.count)
      if count == 0 { return bytes }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw CommandLineError(.noInput, "standard input cannot be read") }
      bytes += chunk[..<count]
    }
    throw CommandLineError(.badInput, "standard input has more than \(InputFile.maxBytes) bytes")
  }
}

enum InputFile {
  /// Above the limit of any message, so that the message's own limit is reported.
  static let maxBytes = 1_048_576

  static func read(_ path: String, limit: Int = maxBytes) throws(CommandLineError) -> [UInt8] {
    let data: Data
    do {
      data = try Data(contentsOf: URL(filePath: path))
    } catch {
      throw CommandLineError(.noInput, "cannot read \(path): does it exist, and may you read it?")
    }
    guard data.count <= limit else {
      throw CommandLineError(.noInput, "\(path) has \(data.count) bytes; at most \(limit) are accepted")
    }
    return Array(data)
  }
}
