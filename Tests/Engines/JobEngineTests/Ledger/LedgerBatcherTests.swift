import CountersignConcurrency
import CountersignTelemetry
import Synchronization
import TestSupport
import Testing

@testable import JobEngine

@Suite struct LedgerBatcherTests {
  private func claim(_ number: Int) -> LedgerClaim {
    LedgerClaim(
      messageID: "job-\(number)", token: Int64(number), lane: "a",
      times: .init(now: start, leaseUntil: start + .seconds(20)))
  }

  @Test func `Entries that arrive while a batch is under way share the next one, up to its limit`() async throws {
    let gate = Latch()
    let ledger = MemoryLedger(gate: { await gate.wait() })
    let batcher = LedgerBatcher(ledger)
    let count = LedgerEntry.maxBatch + 10
    try await withThrowingTaskGroup(of: ClaimAnswer.self) { group in
      group.addTask { try await batcher.claim(claim(0)) }
      try await eventually("the first batch is under way") { ledger.batchSizes == [1] }
      for number in 1...count { group.addTask { try await batcher.claim(claim(number)) } }
      try await eventually("all wait") { batcher.waitingCount == count }
      gate.open()
      for try await answer in group { #expect(answer == .claimed(unknownCalls: 0)) }
    }
    #expect(ledger.batchSizes == [1, LedgerEntry.maxBatch, 10])
  }

  @Test func `Each entry gets its own answer or error`() async throws {
    let ledger = MemoryLedger()
    let batcher = LedgerBatcher(ledger)
    #expect(try await batcher.claim(claim(1)) == .claimed(unknownCalls: 0))
    ledger.fail([.claim])
    await #expect(throws: StoreError.self) { try await batcher.claim(claim(2)) }
    #expect(try await batcher.settle(claim(1), result: [1], at: start) == nil)
    #expect(try await batcher.settle(claim(1), result: [2], at: start) == [1])
    ledger.fail([])
    try await batcher.giveBack(.release(claim(3)))
    try await batcher.giveBack(.postpone(claim(3)))
    #expect(try await batcher.claim(claim(1)) == .settled(result: [1]))
  }

  @Test func `A failed claim is forgotten with the first batch that succeeds`() async throws {
    let ledger = MemoryLedger()
    let batcher = LedgerBatcher(ledger)
    ledger.fail([.claimAnswer, .release])
    await #expect(throws: StoreError.self) { try await batcher.claim(claim(1)) }
    batcher.forget(claim(1))
    try await eventually("a first try has failed") { ledger.batchSizes == [1, 1] && batcher.failedCount == 1 }
    ledger.fail([])
    #expect(try await batcher.claim(claim(2)) == .claimed(unknownCalls: 0))
    #expect(ledger.batchSizes == [1, 1, 2])
    #expect(ledger.count == 1 && batcher.failedCount == 0)
  }

  @Test func `A shared batch gives each job its own answer`() async throws {
    let gate = Latch()
    let ledger = MemoryLedger(gate: { await gate.wait() })
    let batcher = LedgerBatcher(ledger)
    let settled = Task { try await batcher.settle(claim(1), result: [1], at: start) }
    try await eventually("the first batch is under way") { ledger.batchSizes == [1] }
    let other = LedgerClaim(
      messageID: "job-1", token: 9, lane: "a", times: .init(now: start, leaseUntil: start + .seconds(20)))
    let repeated = Task { try await batcher.settle(other, result: [2], at: start) }
    let known = Task { try await batcher.claim(other) }
    let new = Task { try await batcher.claim(claim(2)) }
    try await eventually("all wait") { batcher.waitingCount == 3 }
    gate.open()
    #expect(try await settled.value == nil)
    #expect(try await repeated.value == [1])
    #expect(try await known.value == .settled(result: [1]))
    #expect(try await new.value == .claimed(unknownCalls: 0))
    #expect(ledger.batchSizes == [1, 3])
  }

  @Test func `Entries that wait when the ledger closes are refused`()
    async throws
  {
    try await withTemporaryDirectory { directory in
      let ledger = try await SQLiteLedger.open(path: "\(directory)/ledger.sqlite")
      let batcher = LedgerBatcher(ledger)
      await ledger.close()
      await withTaskGroup(of: Bool.self) { group in
        for number in 0..<100 { group.addTask { (try? await batcher.claim(claim(number))) == nil } }
        for await isRefused in group { #expect(isRefused) }
      }
    }
  }

  @Test func `A ledger that answers too little fails the rest`() async throws {
    let batcher = LedgerBatcher(MuteLedger())
    do {
      _ = try await batcher.claim(claim(1))
      Issue.record("claimed without an answer")
    } catch {
      #expect(error.isRetriable)
    }
  }

  private struct MuteLedger: Ledger {
    var remembers: Bool { true }
    func write(_ entries: [LedgerEntry]) async -> [Result<LedgerAnswer, StoreError>] { [] }
    func purge(at time: UnixTime, from first: Int64, limit: Int) async throws(StoreError) -> LedgerPurgeStep {
      LedgerPurgeStep(forgotten: 0)
    }
    func close() async {}
  }
}
