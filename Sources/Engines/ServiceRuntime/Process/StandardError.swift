#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Writes lines for people to standard error, before there is a log.
public enum StandardError {
  /// Writes text and a line feed.
  public static func print(_ text: String) {
    var rest = Array((text + "\n").utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      // Without standard error there is no way to report this.
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}
