import SQLite
import Testing

@testable import JobEngine

/// The claim outlives everything that may happen between it and the record of the result.
@Suite struct LedgerTimeTests {
  private static let hangingCall = CallGuard.slack + CallGuard.grace
  private static let hangingLookUp = JobRun.lookUpTimeout + hangingCall

  @Test func `The worst waits of the SQLite ledger fit into the margin`() {
    let write = DatabaseOptions().busyTimeout * 5 / 4
    let records = write * 2 + JobRun.settleWaits[0]
    #expect(write + Self.hangingCall + Self.hangingLookUp + records <= JobRules().leaseMargin)
  }

  /// Its lease begins with the write itself. A record waits for the batch under way, and may find the connection cut
  /// that other hosts still have.
  @Test func `The worst waits of the PostgreSQL ledger fit into the margin`() {
    let write = PostgreSQLLedger.longestWrite
    let records = write * 2 * 2 + JobRun.settleWaits[0]
    #expect(write + Self.hangingCall + Self.hangingLookUp + records <= JobRules().leaseMargin)
    #expect(
      PostgreSQLLedger.longestRun(ofWrite: write) * 2 + PostgreSQLLedger.pause < write,
      "there is time for a second connection")
  }
}
