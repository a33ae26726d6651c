import CountersignEncoding

/// A configuration file: JSON5, so that it may contain comments.
struct ConfigurationFile {
  let path: String
  let fields: [String: ConfigurationValue]

  /// Maximum size of a configuration file; a larger one is a mistake.
  static let maxBytes = 1 << 20

  init(path: String) throws(ConfigurationError) {
    self.path = path
    let bytes = try Self.read(path)
    guard let value = Self.parse(bytes[...]) else {
      throw ConfigurationError([Self.syntaxProblem(path, bytes)])
    }
    guard case .object(let fields) = value else {
      throw ConfigurationError([ConfigurationProblem(path, "must hold one section: { … }")])
    }
    self.fields = fields
  }

  /// Reads the bytes of a file. Blocks.
  static func read(_ path: String) throws(ConfigurationError) -> [UInt8] {
    do {
      return try LocalFile.read(path, maxBytes: maxBytes).bytes
    } catch {
      throw ConfigurationError([
        ConfigurationProblem("configuration", error.description, isPermission: error.isPermission)
      ])
    }
  }

  private static let reader = JSONReader(maxBytes: maxBytes, syntax: .json5)

  private static func parse(_ bytes: ArraySlice<UInt8>) -> ConfigurationValue? {
    // Only the line of the error is wanted.
    try? reader.decode(ConfigurationValue.self, from: bytes)
  }

  private static func syntaxProblem(_ path: String, _ bytes: [UInt8]) -> ConfigurationProblem {
    do throws(JSONRefusal) { try reader.check(bytes) } catch {
      return ConfigurationProblem(path, "the file \(error)")
    }
    guard let line = firstBadLine(bytes) else {
      return ConfigurationProblem(path, "the file is empty or ends before everything in it is closed")
    }
    return ConfigurationProblem("\(path):\(line)", "this line is not valid JSON5")
  }

  /// The number of the first line, from 1, after which the file can no longer become valid.
  ///
  /// The decoder does not report a position. So the text is cut after each line, its open brackets are closed, and the
  /// first cut that cannot be read is the answer; `nil` when none is, because only the end is missing.
  private static func firstBadLine(_ bytes: [UInt8]) -> Int? {
    var scanner = BracketScanner()
    var line = 1
    let text = bytes + [UInt8(ascii: "\n")]
    for (index, byte) in text.enumerated() {
      scanner.take(byte)
      guard byte == UInt8(ascii: "\n") else { continue }
      if !canGoOn(text[...index], closers: scanner.closers) { return line }
      line += 1
    }
    return nil
  }

  private static func canGoOn(_ text: ArraySlice<UInt8>, closers: [UInt8]) -> Bool {
    // A line may end after a whole member, after a colon, or after a key.
    ["", "null", ":null"].contains { parse(text + Array($0.utf8) + closers) != nil }
      || parse(text + closers + Array("{}".utf8)) != nil
  }
}

/// Tracks strings, comments and brackets, so that everything open at a position can be closed.
private struct BracketScanner {
  private enum State {
    case plain, slash, lineComment, blockComment, star
    case string(quote: UInt8, isEscaped: Bool)
  }

  private var state = State.plain
  private var stack: [UInt8] = []

  /// Characters that close everything that is open.
  var closers: [UInt8] {
    if case .blockComment = state { return Array("*/".utf8) + stack.reversed() }
    if case .star = state { return Array("*/".utf8) + stack.reversed() }
    return stack.reversed()
  }

  mutating func take(_ byte: UInt8) {
    switch (state, byte) {
    case (.string(let quote, false), _) where byte == quote: state = .plain
    case (.string(let quote, let isEscaped), _):
      state = .string(quote: quote, isEscaped: !isEscaped && byte == UInt8(ascii: "\\"))
    case (.lineComment, UInt8(ascii: "\n")): state = .plain
    case (.lineComment, _): break
    case (.blockComment, _), (.star, UInt8(ascii: "*")):
      state = byte == UInt8(ascii: "*") ? .star : .blockComment
    case (.star, _): state = byte == UInt8(ascii: "/") ? .plain : .blockComment
    case (.slash, UInt8(ascii: "/")): state = .lineComment
    case (.slash, UInt8(ascii: "*")): state = .blockComment
    default: takePlain(byte)
    }
  }

  private mutating func takePlain(_ byte: UInt8) {
    state = .plain
    switch byte {
    case UInt8(ascii: "/"): state = .slash
    case UInt8(ascii: "\""), UInt8(ascii: "'"): state = .string(quote: byte, isEscaped: false)
    case UInt8(ascii: "{"): stack.append(UInt8(ascii: "}"))
    case UInt8(ascii: "["): stack.append(UInt8(ascii: "]"))
    case UInt8(ascii: "}"), UInt8(ascii: "]"): if stack.last == byte { stack.removeLast() }
    default: break
    }
  }
}
