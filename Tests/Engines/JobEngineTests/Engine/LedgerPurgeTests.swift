import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite
import TestSupport
import Testing

@testable import JobEngine

@Suite struct LedgerPurgeTests {
  @Test(arguments: ["{}", "\u{7F}of a version to come", ""])
  func `A record that cannot be read is a dead letter`(record: String) async throws {
    let ledger = MemoryLedger()
    _ = try await ledger.settle(claim(token: 7), result: Array(record.utf8), at: start)
    try await withWorker(ledger: ledger) { worker in
      // After its deadline as well as before.
      for deadline in [Duration.seconds(-60), .seconds(600)] {
        try await worker.process(job(deadline: start + deadline, replyTo: "amq.gen-sender"), isRedelivered: true)
      }
      let dead = worker.published(to: Topology.Exchanges.dead)
      #expect(dead.count == 2)
      #expect(dead[0].message.headers[MessageHeader.deadReason] == .string("UNREADABLE_RECORD"))
      #expect(worker.sink.confirmed.count == 2, "its sender is told nothing")
      #expect(worker.performed == 0)
    }
  }

  @Test func `Jobs are forgotten some time after their deadline`()
    async throws
  {
    var options = WorkerHarness.options
    options.retention = .seconds(3600)
    let longest = options.longestDeadline
    let ledger = MemoryLedger()
    try await withWorker(ledger: ledger, options: options) { worker in
      try await worker.process(job("short", deadline: start + .seconds(600)))
      try await worker.process(job("long", deadline: start + .seconds(86_400)))
      try await worker.process(job("endless", deadline: start + .seconds(1_000_000_000)))
      worker.clocks.advance(by: .seconds(4200))
      try await worker.advance(LedgerPurge.interval, until: "one is forgotten") { ledger.count == 2 }
      worker.clocks.advance(by: longest)
      try await worker.advance(LedgerPurge.interval, until: "all are forgotten") { ledger.count == 0 }
    }
  }

  @Test func `The file is bounded`() async throws {
    try await withTemporaryDirectory { directory in
      let ledger = try await SQLiteLedger.open(path: "\(directory)/ledger.sqlite", options: .init(synchronous: .normal))
      for number in 0..<3000 {
        _ = try await ledger.settle(claim("job-\(number)"), result: Array(repeating: 1, count: 400), at: start)
      }
      var options = WorkerHarness.options
      let bound: Int64 = 1_000_000
      options.maxLedgerBytes = bound
      try await withWorker(ledger: ledger, options: options) { worker in
        #expect(try await ledger.size()?.usedBytes ?? 0 > bound)
        // The purge may begin to wait only after the clock has moved.
        try await worker.advance(LedgerPurge.interval, until: "it was told") {
          worker.registry.render().contains("countersign_ledger_used_bytes")
            && worker.logs.events.contains {
              $0.message.hasPrefix("the ledger has reached its size limit")
            }
        }
        #expect(try await ledger.size()?.usedBytes ?? .max <= bound)
      }
    }
  }
}
