import CountersignTelemetry
import Synchronization

@testable import JobEngine

/// A ledger in memory that fails when a test tells it to. The conformance suite holds it to what the others do.
final class MemoryLedger: Ledger {
  /// Step that fails. The answer to a claim is lost after the claim was recorded.
  enum Operation: Sendable { case claim, claimAnswer, release, settle }

  private struct Row {
    var state: LedgerState
    var token: Int64
    var lane: String
    var leaseUntil: UnixTime
    var unknownCalls: Int
    var writtenAt: UnixTime
    var keepUntil: UnixTime
    var result: [UInt8] = []
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

  /// Sizes of the batches so far.
  var batchSizes: [Int] { batches.withLock { $0 } }

  var remembers: Bool { true }

  /// By what a job would be found again.
  func match(of id: String) -> LedgerMatch? { state.withLock { $0.matches[id] } }

  var count: Int { state.withLock { $0.rows.count } }

  func fail(_ operations: Set<Operation>) { state.withLock { $0.failing = operations } }

  func write(_ entries: [LedgerEntry]) async -> [Result<LedgerAnswer, LedgerError>] {
    batches.withLock { $0.append(entries.count) }
    if let gate { await gate() }
    return entries.map { entry in
      do throws(LedgerError) {
        return .success(try carryOut(entry))
      } catch {
        return .failure(error)
      }
    }
  }

  private func carryOut(_ entry: LedgerEntry) throws(LedgerError) -> LedgerAnswer {
    switch entry {
    case .claim(let claim): return .claim(try self.claim(claim))
    case .release(let claim):
      try release(claim)
      return .done
    case .postpone(let claim):
      try postpone(claim)
      return .done
    case .settle(let claim, let result, let time):
      return .settled(standing: try settle(claim, result: result, at: time))
    }
  }

  private func claim(_ claim: LedgerClaim) throws(LedgerError) -> ClaimAnswer {
    let answer = try change(.claim) { state -> ClaimAnswer in
      let key = state.key(of: claim)
      guard var row = state.rows[key] else {
        state.rows[state.key(of: claim)] = Row(
          state: .open, token: claim.token, lane: claim.lane, leaseUntil: claim.times.leaseUntil,
          unknownCalls: claim.redeliveries,
          writtenAt: claim.times.now, keepUntil: claim.times.keepUntil)
        state.order.append(state.key(of: claim))
        journal.add(.claimed(claim.messageID))
        let calls = claim.redeliveries
        return calls > 0 ? .abandoned(lane: nil, unknownCalls: calls) : .claimed(unknownCalls: 0)
      }
      let before = row
      switch row.state {
      case .settled: return .settled(result: row.result)
      case .open where claim.failedTokens.contains(row.token):
        row.token = claim.token
        state.rows[key] = row
        return .claimed(unknownCalls: row.unknownCalls)
      case .open where row.token == claim.token: return .claimed(unknownCalls: row.unknownCalls)
      case .open where row.writtenAt - claim.times.now > LeaseClock.tolerance:
        row.leaseUntil = claim.times.now + (row.leaseUntil - row.writtenAt)
        row.writtenAt = claim.times.now
        state.rows[state.key(of: claim)] = row
        return .held(until: row.leaseUntil)
      case .open where row.leaseUntil > claim.times.judgedAt: return .held(until: row.leaseUntil)
      case .open: row.unknownCalls += 1
      case .idle: break
      }
      row.state = .open
      row.token = claim.token
      row.lane = claim.lane
      row.leaseUntil = claim.times.leaseUntil
      row.writtenAt = claim.times.now
      row.keepUntil = claim.times.keepUntil
      state.rows[state.key(of: claim)] = row
      return before.state == .open
        ? .abandoned(lane: before.lane, unknownCalls: row.unknownCalls) : .claimed(unknownCalls: row.unknownCalls)
    }
    try change(.claimAnswer) { _ in }
    return answer
  }

  private func release(_ claim: LedgerClaim) throws(LedgerError) {
    try change(.release) { state in
      guard let row = state.rows[state.key(of: claim)], row.token == claim.token, row.state == .open else { return }
      if row.unknownCalls == 0 {
        state.rows.removeValue(forKey: state.key(of: claim))
        state.order.removeAll { $0 == claim.key }
      } else {
        state.rows[state.key(of: claim)]?.state = .idle
      }
    }
  }

  private func postpone(_ claim: LedgerClaim) throws(LedgerError) {
    try change(.release) { state in
      guard let row = state.rows[state.key(of: claim)], row.token == claim.token, row.state == .open else { return }
      state.rows[state.key(of: claim)]?.state = .idle
      state.rows[state.key(of: claim)]?.unknownCalls += 1
    }
  }

  private func settle(
    _ claim: LedgerClaim, result: [UInt8], at time: UnixTime
  ) throws(LedgerError) -> [UInt8]? {
    try change(.settle) { state in
      if let row = state.rows[state.key(of: claim)], row.state == .settled {
        return row.result == result ? nil : row.result
      }
      if state.rows[state.key(of: claim)] == nil { state.order.append(state.key(of: claim)) }
      state.rows[state.key(of: claim)] = Row(
        state: .settled, token: claim.token, lane: claim.lane, leaseUntil: claim.times.leaseUntil, unknownCalls: 0,
        writtenAt: time, keepUntil: claim.times.keepUntil, result: result)
      state.matches[claim.messageID] = claim.match
      journal.add(.settled(claim.messageID))
      return nil
    }
  }

  func purge(at time: UnixTime, from first: Int64, limit: Int) async throws(LedgerError) -> LedgerPurgeStep {
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
  ) throws(LedgerError) -> Answer {
    let answer: Answer? = state.withLock { $0.failing.contains(operation) ? nil : body(&$0) }
    guard let answer else { throw LedgerError("no space is left on the disk", isRetriable: true) }
    return answer
  }
}
