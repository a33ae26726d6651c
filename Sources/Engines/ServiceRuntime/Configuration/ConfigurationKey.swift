/// One key of a process's configuration, for the list that `--keys` prints.
public struct ConfigurationKey: Sendable, Hashable {
  /// The path from the top: `broker.passwordFile`.
  public let path: String
  /// Its type and default: `whole number 1...65535, default 5672`.
  public let kind: String
  /// Its meaning.
  public let help: String

  /// The environment variable that overrides it: `COUNTERSIGN_BROKER_PASSWORD_FILE`.
  public var variable: String { Self.variable(for: path) }

  /// `broker.passwordFile` → `COUNTERSIGN_BROKER_PASSWORD_FILE`: a word begins at a dot and at a capital after a small
  /// letter or a digit. Any other character becomes an underscore.
  public static func variable(for path: String) -> String {
    var name = "COUNTERSIGN_"
    var previous: Character = "_"
    for character in path {
      if character.isUppercase, previous.isLowercase || previous.isNumber { name.append("_") }
      let isPlain = character.isASCII && (character.isLetter || character.isNumber)
      name.append(contentsOf: isPlain ? character.uppercased() : "_")
      previous = character
    }
    return name
  }
}
