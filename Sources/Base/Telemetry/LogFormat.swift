/// Format of the lines of events.
public enum LogFormat: String, Sendable, CaseIterable, Codable {
  /// For people: `2026-07-01T12:00:00.000Z INFO  coordinator: started queue=sms.dispatch`.
  case text
  /// For machines: one JSON object a line, with `time`, `level`, `label`, `message` and the metadata under its keys.
  case json

  /// Bytes of one value that are written; of a longer one, the rest is replaced by `…`.
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
