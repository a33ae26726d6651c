import CountersignEncoding
import CountersignTelemetry

/// Dead letters, timelines and errors repeat text of services, providers and the broker. A control sequence in them
/// (ECMA-48, 5.4) could write to the clipboard or overwrite other lines; an override of the writing direction (Unicode
/// UAX #9, 2) could show one identifier as another.
enum TerminalText {
  static func lines(_ text: String) -> String { escaped(text, keepsLineFeeds: true) }

  static func line(_ text: String) -> String { escaped(text, keepsLineFeeds: false) }

  private static func escaped(_ text: String, keepsLineFeeds: Bool) -> String {
    guard text.unicodeScalars.contains(where: { isEscaped($0, keepsLineFeeds) }) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if isEscaped(scalar, keepsLineFeeds) {
        result.append(contentsOf: escape(scalar).unicodeScalars)
      } else {
        result.append(scalar)
      }
    }
    return String(result)
  }

  private static func isEscaped(_ scalar: Unicode.Scalar, _ keepsLineFeeds: Bool) -> Bool {
    scalar == "\n" ? !keepsLineFeeds : scalar.isLayoutControl
  }

  /// JSON's own escape, so that JSON keeps its content.
  private static func escape(_ scalar: Unicode.Scalar) -> String {
    "\\u" + Hexadecimal.text(UInt64(scalar.value), width: 4)
  }
}

struct TextTable {
  let headings: [String]
  var rows: [[String]] = []

  init(_ headings: String...) {
    self.headings = headings
  }

  /// Without trailing spaces. Line feeds in cells are escaped.
  var text: String {
    let all = [headings] + rows.map { $0.map(TerminalText.line) }
    let widths = headings.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    return all.map { row in
      let line = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
      return String(line[..<(line.lastIndex { $0 != " " }.map { line.index(after: $0) } ?? line.startIndex)])
    }.joined(separator: "\n")
  }
}
