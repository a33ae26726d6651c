/// Reason that a process cannot start, with its fix.
public struct StartError: ExitingError, Hashable {
  public let exitCode: ExitCode
  /// The problem.
  public let what: String
  /// Its fix.
  public let mend: String?

  public init(_ exitCode: ExitCode, _ what: String, mend: String?) {
    self.exitCode = exitCode
    self.what = what
    self.mend = mend
  }

  /// One line: `problem: fix`.
  public var description: String {
    mend.map { "\(what): \($0)" } ?? what
  }

  /// Whether another start without a change may succeed.
  public var isRetriable: Bool { exitCode == .unavailable || exitCode == .temporaryFailure }
}
