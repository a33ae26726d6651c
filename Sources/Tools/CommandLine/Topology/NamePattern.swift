enum NamePattern {
  /// Matches nothing: no queue and no exchange has an empty name.
  static let nothing = "^$"

  static let defaultExchange = "amq.default"

  static func names(_ names: [String], or patterns: [String] = []) -> String {
    let alternatives = names.map(escaped) + patterns
    return alternatives.count == 1 ? "^\(alternatives[0])$" : "^(\(alternatives.joined(separator: "|")))$"
  }

  static func escaped(_ name: String) -> String {
    name.reduce(into: "") { result, character in
      if !character.isLetter, !character.isNumber, character != "-", character != "_" { result.append("\\") }
      result.append(character)
    }
  }
}
