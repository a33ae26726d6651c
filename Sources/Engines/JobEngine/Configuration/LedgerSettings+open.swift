import SQLite

extension LedgerSettings {
  /// Opens the ledger, and makes its file if there is none.
  ///
  /// - Throws: `.ledgerUnavailable`, with what an operator has to mend.
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
