struct ArgumentParser {
  private var syntax: CommandSyntax
  private var path: [String]
  private var options: [CommandOption]
  private var result = CommandArguments()
  private var words: [String] = []

  init(_ syntax: CommandSyntax) {
    self.syntax = syntax
    path = [syntax.name]
    options = syntax.options
  }

  mutating func parse(_ arguments: [String]) throws(UsageError) -> CommandInvocation {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        try takeWords(rest)
        break
      } else if argument == "--help" || argument == "-h" {
        return .help(HelpText(syntax, path: path, options: options).text)
      } else if argument.hasPrefix("--") {
        try takeOption(argument.dropFirst(2), &rest)
      } else if argument.hasPrefix("-"), argument.utf8.count > 1, !isNumber(argument) {
        try takeShortOption(argument, &rest)
      } else {
        try takeWords([argument])
      }
    }
    return .run(try finished())
  }

  private func isNumber(_ argument: String) -> Bool {
    Double(argument) != nil
  }

  private mutating func takeOption(_ text: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = options.first(where: { $0.name == name }) else {
      let suggestion = NearestName.of(name, among: options.map(\.name) + ["help"])
      throw UsageError("unknown option --\(name)" + (suggestion.map { " (did you mean --\($0)?)" } ?? hint))
    }
    try take(option, "--\(name)", inlineValue: parts.count > 1 ? String(parts[1]) : nil, &rest)
  }

  private mutating func takeShortOption(_ argument: String, _ rest: inout ArraySlice<String>) throws(UsageError) {
    let letter = argument.dropFirst().first
    guard argument.count == 2, let option = options.first(where: { $0.short == letter }) else {
      throw UsageError("unknown option \(argument)" + hint)
    }
    try take(option, argument, inlineValue: nil, &rest)
  }

  private mutating func take(
    _ option: CommandOption, _ written: String, inlineValue: String?, _ rest: inout ArraySlice<String>
  ) throws(UsageError) {
    guard let valueName = option.valueName else {
      guard inlineValue == nil else { throw UsageError("\(written) takes no value") }
      result.options[option.name, default: []].append("")
      return
    }
    guard let value = inlineValue ?? rest.popFirst() else {
      throw UsageError("\(written) needs a value: \(written) \(valueName)")
    }
    result.options[option.name, default: []].append(value)
  }

  private mutating func takeWords(_ more: ArraySlice<String>) throws(UsageError) {
    for word in more {
      guard !syntax.subcommands.isEmpty else {
        words.append(word)
        continue
      }
      guard let command = syntax.subcommands.first(where: { $0.name == word }) else {
        let names = syntax.subcommands.map(\.name)
        let suggestion = NearestName.of(word, among: names).map { " (did you mean \($0)?)" }
        throw UsageError("unknown command \(word)" + (suggestion ?? "; one of \(names.joined(separator: ", "))"))
      }
      syntax = command
      path.append(command.name)
      result.command.append(command.name)
      options = command.options + options
    }
  }

  private mutating func finished() throws(UsageError) -> CommandArguments {
    guard syntax.subcommands.isEmpty else {
      let names = syntax.subcommands.map(\.name).joined(separator: ", ")
      throw UsageError("\(path.joined(separator: " ")) needs a command: one of \(names)")
    }
    var rest = words[...]
    for operand in syntax.operands {
      let values = operand.isRepeating ? Array(rest) : Array(rest.prefix(1))
      rest = rest.dropFirst(values.count)
      guard !values.isEmpty || !operand.isRequired else { throw UsageError("\(operand.name) is missing" + hint) }
      if !values.isEmpty { result.operands[operand.name] = values }
    }
    if let unexpected = rest.first { throw UsageError("unexpected argument \(unexpected)" + hint) }
    return result
  }

  private var hint: String { "; see \(path.joined(separator: " ")) --help" }
}
