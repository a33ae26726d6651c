struct HelpText {
  private let syntax: CommandSyntax
  private let path: [String]
  private let options: [CommandOption]

  init(_ syntax: CommandSyntax, path: [String], options: [CommandOption]) {
    self.syntax = syntax
    self.path = path
    self.options = options + [.help]
  }

  var text: String {
    var sections = [syntax.summary, "Usage: \(usage)"]
    sections.append(contentsOf: table("Commands:", syntax.subcommands.map { ($0.name, $0.summary) }))
    sections.append(contentsOf: table("Arguments:", syntax.operands.map { ($0.name, $0.help) }))
    sections.append(contentsOf: table("Options:", options.map { (Self.title($0), $0.help) }))
    if let discussion = syntax.discussion { sections.append(discussion) }
    return sections.joined(separator: "\n\n") + "\n"
  }

  private var usage: String {
    var words = path
    if !syntax.subcommands.isEmpty { words.append("COMMAND") }
    words.append("[OPTIONS]")
    for operand in syntax.operands {
      let name = operand.isRepeating ? operand.name + "..." : operand.name
      words.append(operand.isRequired ? name : "[\(name)]")
    }
    return words.joined(separator: " ")
  }

  private static func title(_ option: CommandOption) -> String {
    let short = option.short.map { "-\($0), " } ?? "    "
    return "\(short)--\(option.name)" + (option.valueName.map { " \($0)" } ?? "")
  }

  private static let columnWidth = 28

  private func table(_ heading: String, _ rows: [(String, String)]) -> [String] {
    guard !rows.isEmpty else { return [] }
    let width = min(rows.map(\.0.count).max() ?? 0, Self.columnWidth)
    let lines = rows.map { title, help in
      "  " + title + String(repeating: " ", count: max(0, width - title.count)) + "  " + help
    }
    return [([heading] + lines).joined(separator: "\n")]
  }
}
