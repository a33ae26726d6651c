/// A file of shell assignments, as `.run/stack.env` is one: `export NAME=value` or `NAME='value'`, a line each.
enum EnvironmentFile {
  /// The assignments; lines that are none are passed over. Nothing is expanded.
  static func parse(_ text: String) -> [String: String] {
    text.split(separator: "\n").reduce(into: [:]) { result, line in
      var line = line.drop { $0 == " " || $0 == "\t" }
      if line.hasPrefix("export ") { line = line.dropFirst(7).drop { $0 == " " } }
      guard let equals = line.firstIndex(of: "="), !line.hasPrefix("#") else { return }
      let name = line[..<equals]
      guard name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }) else { return }
      result[String(name)] = unquoted(line[line.index(after: equals)...])
    }
  }

  private static func unquoted(_ text: Substring) -> String {
    for quote in ["'", "\""] where text.count >= 2 && text.hasPrefix(quote) && text.hasSuffix(quote) {
      return String(text.dropFirst().dropLast())
    }
    return String(text)
  }
}
