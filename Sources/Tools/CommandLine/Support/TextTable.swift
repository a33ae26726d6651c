/// Rows in straight columns, for people.
struct TextTable {
  let headings: [String]
  var rows: [[String]] = []

  init(_ headings: String...) {
    self.headings = headings
  }

  /// The lines; empty cells at the end of a line leave no space behind. A cell stays on its line whatever it holds.
  var text: String {
    let all = [headings] + rows.map { $0.map(TerminalText.line) }
    let widths = headings.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    return all.map { row in
      let line = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
      return String(line[..<(line.lastIndex { $0 != " " }.map { line.index(after: $0) } ?? line.startIndex)])
    }.joined(separator: "\n")
  }
}
