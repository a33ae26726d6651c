/// How a process ends, by the numbers of `sysexits.h`.
public struct ExitCode: Sendable, Hashable {
  public let rawValue: Int32

  public init(_ rawValue: Int32) {
    self.rawValue = rawValue
  }

  /// All went well.
  public static let success = ExitCode(0)
  /// The command was carried out, and the answer is no.
  public static let failure = ExitCode(1)
  /// EX_USAGE: the arguments are wrong.
  public static let usage = ExitCode(64)
  /// EX_DATAERR: the input is wrong.
  public static let badInput = ExitCode(65)
  /// EX_NOINPUT: a file that was named is not there.
  public static let noInput = ExitCode(66)
  /// EX_UNAVAILABLE: something that is needed does not answer.
  public static let unavailable = ExitCode(69)
  /// EX_SOFTWARE: a fault of the program.
  public static let internalError = ExitCode(70)
  /// EX_CANTCREAT: a file cannot be made.
  public static let cannotCreate = ExitCode(73)
  /// EX_IOERR: a file cannot be read or written.
  public static let ioError = ExitCode(74)
  /// EX_TEMPFAIL: it may go well later.
  public static let temporaryFailure = ExitCode(75)
  /// EX_NOPERM: a file or a user lacks a right.
  public static let noPermission = ExitCode(77)
  /// EX_CONFIG: the configuration is wrong.
  public static let configuration = ExitCode(78)

  /// Ended by a signal: 128 and the signal's number, as shells have it.
  public static func signal(_ number: Int32) -> ExitCode {
    ExitCode(128 + number)
  }
}

/// An error that knows how the process should end.
public protocol ExitingError: Error, CustomStringConvertible {
  /// The exit code.
  var exitCode: ExitCode { get }
}
