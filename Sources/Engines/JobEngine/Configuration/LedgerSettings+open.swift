import SQLite

extension LedgerSettings {
  /// Opens the ledger, and creates its file if necessary.
  ///
  /// - Throws: `.ledgerUnavailable`, with a hint for the operator.
  public func open() async throws(WorkerError) -> any Ledger {
    switch kind {
    case .none: return NoLedger()
    case .sqlite:
      do {
        return try await SQLiteLedger.open(path: path, options: DatabaseOptions(synchronous: databaseMode))
      } catch {
        throw WorkerError(.ledgerUnavailable, "ledger.path: \(error.message)")
      }
    }
  }

  private var databaseMode: DatabaseOptions.Synchronous {
    switch synchronous {
    case .full: .full
    case .normal: .normal
    }
  }
}
