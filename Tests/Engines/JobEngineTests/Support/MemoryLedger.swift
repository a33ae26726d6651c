import CountersignTelemetry
import Synchronization

@testable import JobEngine

/// A ledger in memory that fails when a test tells it to. The conformance suite holds it to what the others do.
final class MemoryLedger: Ledger {
  /// Step that fails. The answer to a claim is lost after the claim was recorded.
  enum Operation: Sendable { case claim, claimAnswer, release, settle }

  private struct Row {
    var known: LedgerRow
    var keepUntil: UnixTime
  }

  private struct State {
    var rows: [String: Row] = [:]
    var order: [String] = []
    var failing: Set<Operation> = []
    var matches: [String: LedgerMatch] = [:]

    /// Jobs of before are known by their message ID alone.
    func key(of claim: LedgerClaim) -> String { rows[claim.messageID] == nil ? claim.key : claim.messageID }
  }

  private let state = Mutex(State())
  private let journal: Journal
  private let batches = Mutex<[Int]>([])
  /// Holds each batch up before it is carried out.
  private let gate: (@Sendable () async -> Void)?

  init(_ journal: Journal = Journal(), gate: (@Sendable () async -> Void)? = nil) {
    self.journal = journal
    self.gate = gate
  }

  var batchSizes: [Int] { batches.withLock { $0 } }

  var remembers: Bool { true }

  /// By what a job would be found again.
  func match(of id: String) -> LedgerMatch? { state.withLock { $0.matches[id] } }

  var count: Int { state.withLock { $0.rows.count } }

  func fail(_ operations: Set<Operation>) { state.withLock { $0.failing = operations } }

  func write(_ entries: [LedgerEntry]) async -> [Result<LedgerAnswer, StoreError>] {
    batches.withLock { $0.append(entries.count) }
    if let gate { await gate() }
    return entries.map { entry in
      do throws(StoreError) {
        return .success(try carryOut(entry))
      } catch {
        return .failure(error)
      }
    }
  }

  private func carryOut(_ entry: LedgerEntry) throws(StoreError) -> LedgerAnswer {
    switch entry {
    case .claim(let claim): return .claim(try self.claim(claim))
    case .release(let claim):
      try release(claim)
      return .done
    case .postpone(let claim):
      try postpone(claim)
      return .done
    case .forget(let claim):
      try forget(claim)
      return .done
    case .settle(let claim, let result, let time):
      return .settled(standing: try settle(claim, result: result, at: time))
    }
  }

  private func claim(_ claim: LedgerClaim) throws(StoreError) -> ClaimAnswer {
    let answer = try change(.claim) { state -> ClaimAnswer in
      let key = state.key(of: claim)
      let calls = claim.redeliveries
      guard var row = state.rows[key] else {
        state.rows[key] = Self.open(claim, unknownCalls: calls)
        state.order.append(key)
        journal.add(.claimed(claim.messageID))
        return calls > 0 ? .abandoned(lane: nil, unknownCalls: calls) : .claimed(unknownCalls: 0)
      }
      switch row.known.consequence(of: claim) {
      case .answer(let answer): return answer
      case .shorten(let leaseUntil):
        row.known.leaseUntil = leaseUntil
        row.known.writtenAt = claim.times.now
        state.rows[key] = row
        return .held(until: leaseUntil)
      case .takeOver(let calls, let answer):
        state.rows[key] = Self.open(claim, unknownCalls: calls)
        return answer
      }
    }
    try change(.claimAnswer) { _ in }
    return answer
  }

  private static func open(_ claim: LedgerClaim, unknownCalls: Int) -> Row {
    let known = LedgerRow(
      state: .open, token: claim.token, lane: claim.lane, leaseUntil: claim.times.leaseUntil,
      unknownCalls: unknownCalls, writtenAt: claim.times.now)
    return Row(known: known, keepUntil: claim.times.keepUntil)
  }

  private func release(_ claim: LedgerClaim) throws(StoreError) {
    try change(.release) { state in
      let key = state.key(of: claim)
      guard let row = state.rows[key]?.known, row.token == claim.token, row.state == .open else { return }
      if row.unknownCalls == 0 {
        state.rows.removeValue(forKey: key)
        state.order.removeAll { $0 == claim.key }
      } else {
        state.rows[key]?.known.state = .idle
      }
    }
  }

  private func forget(_ claim: LedgerClaim) throws(StoreError) {
    let calls = state.withLock { $0.rows[$0.key(of: claim)]?.known.unknownCalls ?? 0 }
    if calls == 0 { try release(claim) }
  }

  private func postpone(_ claim: LedgerClaim) throws(StoreError) {
    try change(.release) { state in
      let key = state.key(of: claim)
      guard let row = state.rows[key]?.known, row.token == claim.token, row.state == .open else { return }
      state.rows[key]?.known.state = .idle
      state.rows[key]?.known.unknownCalls += 1
    }
  }

  private func settle(
    _ claim: LedgerClaim, result: [UInt8], at time: UnixTime
  ) throws(StoreError) -> [UInt8]? {
    try change(.settle) { state in
      let key = state.key(of: claim)
      if let row = state.rows[key]?.known, row.state == .settled { return row.result == result ? nil : row.result }
      if state.rows[key] == nil { state.order.append(key) }
      var row = Self.open(claim, unknownCalls: 0)
      row.known.state = .settled
      row.known.writtenAt = time
      row.known.result = result
      state.rows[key] = row
      state.matches[claim.messageID] = claim.match
      journal.add(.settled(claim.messageID))
      return nil
    }
  }

  func purge(at time: UnixTime, from first: Int64, limit: Int) async throws(StoreError) -> LedgerPurgeStep {
    try change(.settle) { state in
      let window = state.order.dropFirst(Int(first)).prefix(limit)
      let old = window.filter { id in state.rows[id].map { $0.keepUntil < time } ?? false }
      for id in old { state.rows.removeValue(forKey: id) }
      state.order.removeAll { old.contains($0) }
      return LedgerPurgeStep(forgotten: old.count, next: window.count < limit ? nil : first + Int64(limit - old.count))
    }
  }

  func close() async { journal.add(.ledgerClosed) }

  private func change<Answer: Sendable>(
    _ operation: Operation, _ body: (inout State) -> Answer
  ) throws(StoreError) -> Answer {
    let answer: Answer? = state.withLock { $0.failing.contains(operation) ? nil : body(&$0) }
    guard let answer else { throw StoreError(.full, "no space is left on the disk") }
    return answer
  }
}
