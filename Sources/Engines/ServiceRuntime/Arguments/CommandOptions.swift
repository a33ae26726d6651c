/// Options and operands of a command, read into properties: the initializer is the syntax.
///
/// ```swift
/// struct Options: CommandOptions {
///   let language: String?
///   let number: String
///
///   init(_ reader: OptionReader) {
///     language = reader.text("language", "CODE", "Language of the SMS, BCP 47.")
///     number = reader.operand("NUMBER", "Phone number.")
///   }
/// }
/// let syntax = CommandSyntax("start", "Starts a verification.", options: Options.self)
/// let options = try Options.read(arguments)
/// ```
///
/// Each name is written once, so none can be asked for that the syntax does not have.
public protocol CommandOptions: Sendable {
  /// Reads every option and operand, in the order of the help. Called without arguments, too, to collect the syntax.
  init(_ reader: OptionReader)
}

extension CommandOptions {
  /// Reads arguments that the syntax admitted.
  /// - Throws: the first value that is wrong.
  public static func read(_ arguments: CommandArguments) throws(UsageError) -> Self {
    let reader = OptionReader(arguments)
    let options = Self(reader)
    try reader.finish()
    return options
  }
}

extension CommandSyntax {
  /// The syntax of a command whose options and operands are those that a type reads.
  /// - Parameters:
  ///   - name: the program's or the sub-command's name.
  ///   - summary: one sentence.
  ///   - discussion: paragraphs for the end of the help.
  ///   - options: the type that reads them.
  ///   - subcommands: the commands below this one.
  public init<Options: CommandOptions>(
    _ name: String, _ summary: String, discussion: String? = nil, options: Options.Type,
    subcommands: [CommandSyntax] = []
  ) {
    let reader = OptionReader(nil)
    _ = Options(reader)
    self.init(
      name, summary, discussion: discussion, options: reader.options, operands: reader.operands,
      subcommands: subcommands)
  }
}

/// Reads the options and operands of one command, and collects its syntax.
///
/// A value that is wrong reads as absent; ``finish()`` throws the first such problem.
public final class OptionReader {
  private let arguments: CommandArguments?
  private(set) var options: [CommandOption] = []
  private(set) var operands: [CommandOperand] = []
  private var problem: UsageError?

  public init(_ arguments: CommandArguments?) {
    self.arguments = arguments
  }

  /// Throws the first problem of the values read so far.
  public func finish() throws(UsageError) {
    if let problem { throw problem }
  }

  /// Reports a value that the syntax admits and the command does not.
  public func fail(_ message: String) {
    if arguments != nil, problem == nil { problem = UsageError(message) }
  }

  // MARK: Options

  /// An option without a value.
  public func flag(_ name: String, short: Character? = nil, _ help: String) -> Bool {
    options.append(.flag(name, short: short, help))
    return arguments?.flag(name) ?? false
  }

  /// An option with a text. The last one counts.
  public func text(_ name: String, short: Character? = nil, _ valueName: String, _ help: String) -> String? {
    options.append(.value(name, short: short, valueName, help))
    return arguments?.value(name)
  }

  /// An option with a text that may be repeated.
  public func texts(_ name: String, _ valueName: String, _ help: String) -> [String] {
    options.append(.value(name, valueName, help))
    return arguments?.values(name) ?? []
  }

  /// An option with a whole number.
  public func integer(
    _ name: String, _ valueName: String, in range: ClosedRange<Int>, _ help: String
  ) -> Int? {
    options.append(.value(name, valueName, help))
    return attempt { (arguments) throws(UsageError) in try arguments.integer(name, in: range) }
  }

  /// An option with a duration: `500ms`, `30s`, `2m`, `1h`, or seconds without a unit.
  public func duration(_ name: String, _ valueName: String, _ help: String) -> Duration? {
    options.append(.value(name, valueName, help))
    return attempt { (arguments) throws(UsageError) in try arguments.duration(name) }
  }

  /// An option with one of a few words.
  public func word<Word: CaseIterable & RawRepresentable<String>>(
    _ name: String, _ valueName: String, _ help: String, as type: Word.Type = Word.self
  ) -> Word? {
    options.append(.value(name, valueName, help))
    return attempt { (arguments) throws(UsageError) in try arguments.word(name, as: type) }
  }

  /// Options that a command further out declares.
  public func inherited<Options: CommandOptions>(_ type: Options.Type = Options.self) -> Options {
    let outer = OptionReader(arguments)
    let options = Options(outer)
    if problem == nil { problem = outer.problem }
    return options
  }

  // MARK: Operands

  /// An operand that has to be given.
  public func operand(_ name: String, _ help: String) -> String {
    operands.append(.required(name, help))
    return attempt { (arguments) throws(UsageError) in try arguments.operand(name) } ?? ""
  }

  /// An operand that may be left out. Comes after the required ones.
  public func optionalOperand(_ name: String, _ help: String) -> String? {
    operands.append(.optional(name, help))
    return arguments?[name]
  }

  private func attempt<Value>(_ read: (CommandArguments) throws(UsageError) -> Value?) -> Value? {
    guard let arguments else { return nil }
    do throws(UsageError) {
      return try read(arguments)
    } catch {
      if problem == nil { problem = error }
      return nil
    }
  }
}
