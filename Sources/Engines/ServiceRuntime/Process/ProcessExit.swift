#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

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
