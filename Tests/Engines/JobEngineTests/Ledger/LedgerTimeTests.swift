import SQLite
import Testing

@testable import JobEngine

/// The claim outlives everything that may happen between it and the record of the result.
@Suite struct LedgerTimeTests {
  private static let hangingCall = CallGuard.slack + CallGuard.grace
  private static let hangingLookUp = JobRun.lookUpTimeout + hangingCall

  private static let margins = [JobRules.leaseMargins.lowerBound, .seconds(20), JobRules().leaseMargin, .seconds(300)]

  private func rules(_ margin: Duration) -> JobRules {
    var rules = JobRules()
    rules.leaseMargin = margin
    return rules
  }

  @Test(arguments: margins) func `The worst waits of the SQLite ledger fit into the margin`(_ margin: Duration) {
    let write = rules(margin).busyTimeout * 5 / 4
    let records = write * 2 + JobRun.settleWaits[0]
    #expect(write + Self.hangingCall + Self.hangingLookUp + records <= margin)
    #expect(write > .seconds(1))
  }

  /// Its lease begins with the write itself. A record waits for the batch under way, and may find the connection cut
  /// that other hosts still have.
  @Test(arguments: margins) func `The worst waits of the PostgreSQL ledger fit into the margin`(_ margin: Duration) {
    let write = rules(margin).longestBatch
    let records = write * 2 * 2 + JobRun.settleWaits[0]
    #expect(write + Self.hangingCall + Self.hangingLookUp + records <= margin)
    #expect(
      PostgreSQLLedger.longestRun(ofWrite: write) * 2 + PostgreSQLLedger.pause
        + PostgreSQLLedger.connectTimeout(ofWrite: write) < write,
      "there is time for a second connection")
  }

  @Test func `The default leaves the writes all the time that they may take`() {
    #expect(JobRules().busyTimeout == DatabaseOptions().busyTimeout)
    #expect(JobRules().longestBatch == PostgreSQLLedger.longestWrite)
  }
}
