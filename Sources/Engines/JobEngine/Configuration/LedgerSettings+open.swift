import PostgreSQL
import SQLite
import ServiceRuntime

extension LedgerSettings {
  /// Opens the ledger, and creates its file if necessary. The tables of a server have to be there.
  ///
  /// - Parameters:
  ///   - instance: name of the process, which the server shows.
  ///   - longestCall: the longest time-out of a lane.
  /// - Throws: `.ledgerUnavailable` or `.tablesMissing`, with a hint for the operator.
  public func open(
    for instance: String, longestCall: Duration = .zero
  ) async throws(WorkerError) -> any Ledger {
    var rules = JobRules()
    rules.leaseMargin = leaseMargin
    switch kind {
    case .none: return NoLedger()
    case .sqlite:
      var options = DatabaseOptions(synchronous: databaseMode)
      options.busyTimeout = rules.busyTimeout
      do {
        return try await SQLiteLedger.open(path: path, options: options)
      } catch {
        throw WorkerError(.ledgerUnavailable, "ledger.path: \(error.message)")
      }
    case .postgresql:
      guard var endpoint = postgresql?.endpoint, let options = postgresql?.options else {
        throw WorkerError(.ledgerUnavailable, "ledger.url is missing")
      }
      endpoint.applicationName = instance
      do {
        return try await PostgreSQLLedger.open(
          endpoint, options: options, longestLease: leaseMargin + longestCall, longestWrite: rules.longestBatch)
      } catch {
        throw WorkerError(.ledgerUnavailable, "ledger.url", error)
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
