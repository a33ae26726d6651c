#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Exit code of a process, by the numbers of `sysexits.h`.
public struct ExitCode: Sendable, Hashable {
  public let rawValue: Int32

  public init(_ rawValue: Int32) {
    self.rawValue = rawValue
  }

  /// All went well.
  public static let success = ExitCode(0)
  /// The command was carried out, with a negative answer.
  public static let failure = ExitCode(1)
  /// EX_USAGE: the arguments are wrong.
  public static let usage = ExitCode(64)
  /// EX_DATAERR: the input is wrong.
  public static let badInput = ExitCode(65)
  /// EX_NOINPUT: a named file is missing.
  public static let noInput = ExitCode(66)
  /// EX_UNAVAILABLE: a required service does not answer.
  public static let unavailable = ExitCode(69)
  /// EX_SOFTWARE: a bug of the program.
  public static let internalError = ExitCode(70)
  /// EX_CANTCREAT: a file cannot be created.
  public static let cannotCreate = ExitCode(73)
  /// EX_IOERR: a file cannot be read or written.
  public static let ioError = ExitCode(74)
  /// EX_TEMPFAIL: a later attempt may succeed.
  public static let temporaryFailure = ExitCode(75)
  /// EX_NOPERM: a file or a user lacks a permission.
  public static let noPermission = ExitCode(77)
  /// EX_CONFIG: the configuration is wrong.
  public static let configuration = ExitCode(78)

  /// Ended by a signal: 128 and the signal's number, as shells have it.
  public static func signal(_ number: Int32) -> ExitCode {
    ExitCode(128 + number)
  }
}

/// An error that determines the exit code of the process.
public protocol ExitingError: Error, CustomStringConvertible {
  /// The exit code.
  var exitCode: ExitCode { get }
}

/// Reason that a process cannot start, with its fix.
public struct StartError: ExitingError, Hashable {
  public let exitCode: ExitCode
  /// The problem.
  public let what: String
  /// Its fix.
  public let hint: String?

  public init(_ exitCode: ExitCode, _ what: String, hint: String?) {
    self.exitCode = exitCode
    self.what = what
    self.hint = hint
  }

  /// One line: `problem: fix`.
  public var description: String {
    hint.map { "\(what): \($0)" } ?? what
  }

  /// Whether another start without a change may succeed.
  public var isRetriable: Bool { exitCode == .unavailable || exitCode == .temporaryFailure }
}

/// Ends the process.
public enum ProcessExit {
  /// Ends it at once, without running exit handlers: no thread can delay that.
  public static func now(_ code: ExitCode) -> Never {
    _exit(code.rawValue)
  }

  /// Ends it regularly.
  public static func orderly(_ code: ExitCode) -> Never {
    exit(code.rawValue)
  }
}
