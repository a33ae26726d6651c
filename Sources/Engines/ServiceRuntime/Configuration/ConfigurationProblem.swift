/// One problem of the configuration. Its text never contains a value, which may be a secret.
public struct ConfigurationProblem: Sendable, Hashable, CustomStringConvertible {
  /// The file and the key, or the environment variable.
  public let place: String
  /// The problem and its fix.
  public let text: String
  /// Whether only a permission of the user is missing.
  public let isPermission: Bool

  init(_ place: String, _ text: String, isPermission: Bool = false) {
    self.place = place
    self.text = text
    self.isPermission = isPermission
  }

  /// One line: `Config/sms-worker.json5: broker.ulr: unknown key (did you mean broker.url?)`.
  public var description: String { "\(place): \(text)" }
}

/// All problems of a configuration.
public struct ConfigurationError: ExitingError, Hashable {
  public let problems: [ConfigurationProblem]

  /// - Parameter problems: at least one.
  public init(_ problems: [ConfigurationProblem]) {
    self.problems = problems
  }

  /// ``ExitCode/noPermission`` when only permissions are missing, else ``ExitCode/configuration``.
  public var exitCode: ExitCode {
    problems.allSatisfy(\.isPermission) ? .noPermission : .configuration
  }

  /// One line for each problem.
  public var description: String {
    problems.map(\.description).joined(separator: "\n")
  }

  /// The same configuration fails again.
  public var isRetriable: Bool { false }
}
