import SQLite
import TestSupport

@testable import JobEngine

enum LedgerKind: String, CaseIterable, Sendable {
  case sqlite
  case postgresql
  case memory
  case none

  /// Lends two ledgers that share what they know, as two workers do.
  func withTwo<Result>(_ body: (any Ledger, any Ledger) async throws -> Result) async throws -> Result {
    switch self {
    case .memory:
      let ledger = MemoryLedger()
      return try await body(ledger, ledger)
    case .postgresql:
      return try await withSharedDatabase { database in
        let clock = try await ServerClock(database)
        let (first, second) = (try ClockedLedger(database, clock), try ClockedLedger(database, clock))
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body(first, second)) } catch { result = .failure(error) }
        await first.close()
        await second.close()
        await clock.close()
        return try result.get()
      }
    case .none: return try await body(NoLedger(), NoLedger())
    case .sqlite:
      return try await withTemporaryDirectory { directory in
        let first = try await SQLiteLedger.open(
          path: "\(directory)/ledger.sqlite", options: .init(synchronous: .normal))
        let second = try await SQLiteLedger.open(
          path: "\(directory)/ledger.sqlite", options: .init(synchronous: .normal))
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body(first, second)) } catch { result = .failure(error) }
        await first.close()
        await second.close()
        return try result.get()
      }
    }
  }
}
