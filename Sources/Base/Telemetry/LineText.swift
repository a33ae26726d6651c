import CountersignEncoding

/// Appends text to a line so that it stays one line and valid JSON.
enum LineText {
  static func append(_ value: LogValue, to line: inout String, limit: Int) {
    switch value {
    case .string(let text): appendEscaped(text, to: &line, limit: limit)
    case .integer(let number): line += String(number)
    case .number(let number): line += number.isFinite ? String(number) : "\"\(number)\""
    case .bool(let flag): line += flag ? "true" : "false"
    case .null: line += "null"
    }
  }

  static func appendQuoted(_ text: String, to line: inout String, limit: Int) {
    line += "\""
    appendEscaped(text, to: &line, limit: limit)
    line += "\""
  }

  /// The text with `"`, `\` and control characters (C0, DEL, C1, line and paragraph separator) and the
  /// controls that turn the writing direction round escaped as JSON does.
  private static func appendEscaped(_ text: String, to line: inout String, limit: Int) {
    var room = limit
    for scalar in text.unicodeScalars {
      room -= UTF8.width(scalar)
      guard room >= 0 else {
        line += "…"
        return
      }
      switch scalar.value {
      case 0x22: line += "\\\""
      case 0x5C: line += "\\\\"
      case 0x0A: line += "\\n"
      case 0x0D: line += "\\r"
      case 0x09: line += "\\t"
      case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069:
        line += "\\u" + Hexadecimal.text(UInt64(scalar.value), width: 4)
      default: line.unicodeScalars.append(scalar)
      }
    }
  }
}
