/// An option of a command: `--name` or `--name VALUE`.
public struct CommandOption: Sendable {
  /// The name without its hyphens.
  public let name: String
  /// A letter for `-x`.
  public let short: Character?
  /// Placeholder for the value in the help, `FILE`. `nil` for a flag.
  public let valueName: String?
  /// One sentence.
  public let help: String

  /// An option without a value.
  public static func flag(_ name: String, short: Character? = nil, _ help: String) -> CommandOption {
    CommandOption(name: name, short: short, valueName: nil, help: help)
  }

  /// An option with a value. If repeated, all values are kept and the last one counts.
  public static func value(
    _ name: String, short: Character? = nil, _ valueName: String, _ help: String
  ) -> CommandOption {
    CommandOption(name: name, short: short, valueName: valueName, help: help)
  }

  static let help = flag("help", short: "h", "Show this help.")
}

/// A positional argument of a command.
public struct CommandOperand: Sendable {
  /// Its placeholder in the help, in capitals, and its name in ``CommandArguments``.
  public let name: String
  /// One sentence.
  public let help: String
  let isRequired: Bool
  let isRepeating: Bool

  /// An operand that has to be given.
  public static func required(_ name: String, _ help: String) -> CommandOperand {
    CommandOperand(name: name, help: help, isRequired: true, isRepeating: false)
  }

  /// An operand that may be omitted. Comes after the required ones.
  public static func optional(_ name: String, _ help: String) -> CommandOperand {
    CommandOperand(name: name, help: help, isRequired: false, isRepeating: false)
  }

  /// Any number of operands. Comes last.
  public static func repeating(_ name: String, _ help: String, atLeastOne: Bool = false) -> CommandOperand {
    CommandOperand(name: name, help: help, isRequired: atLeastOne, isRepeating: true)
  }
}
