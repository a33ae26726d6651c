import CountersignTelemetry
import CrashMarks
import SQLite

extension LedgerSettings {
  /// Opens the marks of redelivered jobs: in the ledger, or without one in a file where it would be.
  ///
  /// - Returns: `nil` when no file can be kept. A crash may then cost innocent jobs, and the twentieth delivery of a
  ///   job is its last.
  func openMarks(in ledger: any Ledger, logger: Logger) async -> (any MarkStore)? {
    do {
      if let ledger = ledger as? SQLiteLedger { return try ledger.markStore() }
      return try await SQLiteMarkStore.open(path: path + "-marks")
    } catch {
      logger.warning(
        "marks of redelivered jobs cannot be stored; the twentieth delivery of a job is its last",
        [.error: "\(error)", .hint: "set ledger.path to a file in a directory that this user may write to"])
      return nil
    }
  }
}
