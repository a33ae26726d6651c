/// One thing that is wrong with the configuration. Its text never holds a value, which may be a secret.
public struct ConfigurationProblem: Sendable, Hashable, CustomStringConvertible {
  /// Where: the file and the key, or the environment variable.
  public let place: String
  /// What is wrong and how to mend it.
  public let text: String
  /// Whether only a right of the user is missing.
  public let isPermission: Bool

  init(_ place: String, _ text: String, isPermission: Bool = false) {
    self.place = place
    self.text = text
    self.isPermission = isPermission
  }

  /// One line: `Config/sms-worker.json5: broker.ulr: unknown key (did you mean broker.url?)`.
  public var description: String { "\(place): \(text)" }
}

/// The configuration is wrong; everything that is wrong with it at once.
public struct ConfigurationError: ExitingError, Hashable {
  public let problems: [ConfigurationProblem]

  init(_ problems: [ConfigurationProblem]) {
    self.problems = problems
  }

  /// ``ExitCode/noPermission`` when rights are all that is missing, else ``ExitCode/configuration``.
  public var exitCode: ExitCode {
    problems.allSatisfy(\.isPermission) ? .noPermission : .configuration
  }

  /// One line for each problem.
  public var description: String {
    problems.map(\.description).joined(separator: "\n")
  }

  /// The same configuration is wrong again.
  public var isRetriable: Bool { false }
}
