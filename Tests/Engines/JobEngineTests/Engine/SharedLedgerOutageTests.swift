import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import PostgreSQL
import TestSupport
import Testing

@testable import JobEngine

/// A worker whose ledger's database is away: the same as one whose ledger's disk is full.
@Suite struct SharedLedgerOutageTests {
  @Test func `While the database is away jobs wait, nothing is sent, and readiness says why`() async throws {
    let endpoint = PostgreSQLEndpoint(
      hosts: [ServerAddress(host: "127.0.0.1", port: Int(refusingPort))], database: "countersign", user: "worker")
    let ledger = try PostgreSQLLedger(
      endpoint, options: .patient, longestLease: .seconds(60), longestWrite: .milliseconds(100))
    // One more might not be taken any more: the worker pauses as soon as so many have failed.
    let jobs = WorkerHarness.options.ledgerFailureThreshold
    try await withWorker(ledger: ledger) { worker in
      for number in 0..<jobs { worker.deliver(try job("job-\(number)")) }
      try await eventually("all are delayed") {
        worker.delayedJobs.count == jobs
      }
      #expect(worker.performed == 0)
      try await worker.advance(until: "it pauses") { worker.journal.contains(.paused) }
      #expect(worker.problems["ledger"]?.contains("127.0.0.1") == true)
      #expect(worker.problems["jobs"]?.contains("LEDGER_UNAVAILABLE") == true)
    }
  }
}
