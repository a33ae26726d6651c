/// Why a process cannot start, and what to do about it.
public struct StartError: ExitingError, Hashable {
  public let exitCode: ExitCode
  /// What is wrong.
  public let what: String
  /// How to mend it.
  public let mend: String?

  public init(_ exitCode: ExitCode, _ what: String, mend: String?) {
    self.exitCode = exitCode
    self.what = what
    self.mend = mend
  }

  /// One line: `what: how to mend it`.
  public var description: String {
    mend.map { "\(what): \($0)" } ?? what
  }

  /// Whether starting again without a change may succeed.
  public var isRetriable: Bool { exitCode == .unavailable || exitCode == .temporaryFailure }
}
