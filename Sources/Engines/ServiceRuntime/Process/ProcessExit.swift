#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Ends the process.
public enum ProcessExit {
  /// Ends it at once, without running what was registered for the exit: no thread can hold that up.
  public static func now(_ code: ExitCode) -> Never {
    _exit(code.rawValue)
  }

  /// Ends it in good order.
  public static func orderly(_ code: ExitCode) -> Never {
    exit(code.rawValue)
  }
}
