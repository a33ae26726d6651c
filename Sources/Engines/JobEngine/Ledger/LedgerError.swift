/// The ledger could not be read or written.
public struct LedgerError: Error, Sendable, CustomStringConvertible {
  /// What went wrong; safe to log.
  public var message: String
  /// Whether the same call may succeed later.
  public var isRetriable: Bool

  /// - Parameters:
  ///   - message: What went wrong; safe to log.
  ///   - isRetriable: Whether the same call may succeed later.
  public init(_ message: String, isRetriable: Bool) {
    self.message = message
    self.isRetriable = isRetriable
  }

  public var description: String { "ledger: \(message)" }
}
