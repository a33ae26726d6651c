/// Description of a process.
public struct ProcessDescription: Sendable {
  /// The name of the executable: `sms-worker`.
  public let name: String
  /// Its purpose, one sentence.
  public let summary: String
  /// The version that `--version` prints.
  public let version: String

  public init(name: String, summary: String, version: String = Self.version) {
    self.name = name
    self.summary = summary
    self.version = version
  }

  /// The version of this package.
  public static let version = "0.1.0"

  var syntax: CommandSyntax {
    CommandSyntax(
      name, summary,
      discussion: """
        Every key of the configuration can be overridden by an environment variable: broker.passwordFile by
        COUNTERSIGN_BROKER_PASSWORD_FILE. Without --config, COUNTERSIGN_CONFIG names the file, else it is
        Config/\(name).json5, else /etc/countersign/\(name).json5.

        SIGTERM and SIGINT stop the process in good order; a second one ends it at once.

        Exit codes: 0 stopped, 64 wrong arguments, 69 something needed does not answer, 70 internal error,
        75 the stop took too long, 77 a right is missing, 78 the configuration is wrong.
        """,
      options: [
        .value("config", short: "c", "FILE", "The configuration, JSON5."),
        .flag("check", "Check the configuration and end."),
        .flag("keys", "List the keys of the configuration and end."),
        .flag("version", "Print the version and end."),
      ])
  }
}
