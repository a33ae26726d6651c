import CountersignEncoding

/// Format of the lines of events.
public enum LogFormat: String, Sendable, CaseIterable, Codable {
  /// For people: `2026-07-01T12:00:00.000Z INFO  coordinator: started queue=sms.dispatch`.
  case text
  /// For machines: one JSON object a line, with `time`, `level`, `label`, `message` and the metadata under its keys.
  case json

  /// Bytes of one value that are written. Of a longer one, the rest is replaced by `…`.
  public static let maxValueBytes = 4096

  /// The line of an event, without its line feed. Control characters are escaped, so an event is always one line.
  public func line(for event: LogEvent) -> String {
    switch self {
    case .text: textLine(event)
    case .json: jsonLine(event)
    }
  }

  private func textLine(_ event: LogEvent) -> String {
    var line = event.time.rfc3339WithMilliseconds
    line += " "
    line += Self.paddedName(event.level)
    line += " "
    line += event.label
    line += ": "
    line += event.message
    for (key, value) in event.metadata.pairs where value != .null {
      line += " "
      line += key.name
      line += "="
      if case .string(let text) = value, Self.needsQuotes(text) {
        LineText.appendQuoted(text, to: &line, limit: Self.maxValueBytes)
      } else {
        LineText.append(value, to: &line, limit: Self.maxValueBytes)
      }
    }
    return line
  }

  private func jsonLine(_ event: LogEvent) -> String {
    var line = "{\"time\":\""
    line += event.time.rfc3339WithMilliseconds
    line += "\",\"level\":\""
    line += event.level.rawValue
    line += "\",\"label\":"
    LineText.appendQuoted(event.label, to: &line, limit: Self.maxValueBytes)
    line += ",\"message\":"
    LineText.appendQuoted(event.message, to: &line, limit: Self.maxValueBytes)
    for (key, value) in event.metadata.pairs where value != .null {
      line += ","
      LineText.appendQuoted(key.name, to: &line, limit: Self.maxValueBytes)
      line += ":"
      if case .string(let text) = value {
        LineText.appendQuoted(text, to: &line, limit: Self.maxValueBytes)
      } else {
        LineText.append(value, to: &line, limit: Self.maxValueBytes)
      }
    }
    line += "}"
    return line
  }

  private static func paddedName(_ level: LogLevel) -> StaticString {
    switch level {
    case .trace: "TRACE"
    case .debug: "DEBUG"
    case .info: "INFO "
    case .warning: "WARN "
    case .error: "ERROR"
    }
  }

  private static func needsQuotes(_ text: String) -> Bool {
    text.isEmpty || text.utf8.contains { $0 <= 0x20 || $0 == 0x22 || $0 == 0x3D || $0 == 0x5C || $0 == 0x7F }
  }
}

extension String {
  fileprivate static func += (left: inout String, right: StaticString) {
    left.append(right.description)
  }
}

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
      case _ where scalar.isLayoutControl:
        line += "\\u" + Hexadecimal.text(UInt64(scalar.value), width: 4)
      default: line.unicodeScalars.append(scalar)
      }
    }
  }
}
