/// Syntax of a command line: the options, operands and subcommands of a program.
///
/// ```swift
/// let syntax = CommandSyntax(
///   "countersign", "Verifies phone numbers.",
///   options: [.flag("json", "Print JSON.")],
///   subcommands: [
///     CommandSyntax("start", "Starts a verification.", options: [.value("language", "CODE", "BCP 47.")],
///                   operands: [.required("NUMBER", "The phone number.")])
///   ])
/// switch try syntax.parse(Array(CommandLine.arguments.dropFirst())) {
/// case .help(let text): print(text)
/// case .run(let arguments): … arguments.command == ["start"], arguments["NUMBER"], arguments.value("language") …
/// }
/// ```
///
/// Options of a command are valid for its subcommands too, before and after their name. `--help` and `-h` are always
/// available.
public struct CommandSyntax: Sendable {
  /// The name of the program or the subcommand.
  public let name: String
  /// One sentence.
  public let summary: String
  /// Paragraphs for the end of the help: examples, exit codes.
  public let discussion: String?
  public let options: [CommandOption]
  public let operands: [CommandOperand]
  public let subcommands: [CommandSyntax]

  /// - Parameters:
  ///   - name: name of the program or the subcommand.
  ///   - summary: one sentence.
  ///   - discussion: paragraphs for the end of the help.
  ///   - options: arguments that begin with `--`.
  ///   - operands: positional arguments; a command with subcommands has none.
  ///   - subcommands: the commands below this one.
  public init(
    _ name: String, _ summary: String, discussion: String? = nil, options: [CommandOption] = [],
    operands: [CommandOperand] = [], subcommands: [CommandSyntax] = []
  ) {
    precondition(operands.isEmpty || subcommands.isEmpty, "\(name) has operands and sub-commands")
    self.name = name
    self.summary = summary
    self.discussion = discussion
    self.options = options
    self.operands = operands
    self.subcommands = subcommands
  }

  /// Parses arguments.
  /// - Parameter arguments: without the name of the program.
  /// - Throws: the first error, with a suggestion.
  public func parse(_ arguments: [String]) throws(UsageError) -> CommandInvocation {
    var parser = ArgumentParser(self)
    return try parser.parse(arguments)
  }
}

/// Outcome of parsing the arguments.
public enum CommandInvocation: Sendable {
  /// Print this text and exit successfully.
  case help(String)
  /// Carry out the command.
  case run(CommandArguments)
}
