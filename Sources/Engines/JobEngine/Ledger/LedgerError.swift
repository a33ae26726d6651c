/// The ledger could not be read or written.
public struct LedgerError: Error, Sendable, CustomStringConvertible {
  /// Description. Safe to log.
  public var message: String
  /// Whether the same call may succeed later.
  public var isRetriable: Bool

  public init(_ message: String, isRetriable: Bool) {
    self.message = message
    self.isRetriable = isRetriable
  }

  public var description: String { "ledger: \(message)" }
}
