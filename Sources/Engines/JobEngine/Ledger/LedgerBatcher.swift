import CountersignTelemetry
import Synchronization

/// Gathers the entries of all jobs of a worker, so that those that wait share one commit.
///
/// At most one batch is under way; entries that arrive meanwhile form the next one. The number of waiting entries is
/// bounded by the jobs in progress, which the prefetch bounds: each waits for at most one entry.
final class LedgerBatcher: Sendable {
  private typealias Answer = Result<LedgerAnswer, StoreError>

  private struct WaitingEntry {
    let entry: LedgerEntry
    let continuation: CheckedContinuation<Answer, Never>
  }

  private struct State {
    var waiting: [WaitingEntry] = []
    var failedClaims: [LedgerClaim] = []
    /// Whether a claim failed since the last batch.
    var hasFailed = false
    var isWriting = false
  }

  /// Maximum number of failed claims to forget. One beyond ends with its lease.
  static let maxFailedClaims = 1_024

  private let ledger: any Ledger
  private let state = Mutex(State())

  init(_ ledger: any Ledger) {
    self.ledger = ledger
  }

  /// See ``LedgerEntry/claim(_:)``. Suspends until the commit.
  func claim(_ claim: LedgerClaim) async throws(StoreError) -> ClaimAnswer {
    guard case .claim(let answer) = try await write(.claim(claim)).get() else { throw .wrongAnswer }
    return answer
  }

  /// See ``LedgerEntry/release(_:)`` and ``LedgerEntry/postpone(_:)``. Suspends until the commit.
  func giveBack(_ entry: LedgerEntry) async throws(StoreError) {
    _ = try await write(entry).get()
  }

  /// See ``LedgerEntry/forget(_:)``. Does not wait: each batch tries again, until one is committed.
  func forget(_ claim: LedgerClaim) {
    let begins = state.withLock { state in
      guard state.failedClaims.count < Self.maxFailedClaims else { return false }
      state.failedClaims.append(claim)
      state.hasFailed = true
      defer { state.isWriting = true }
      return !state.isWriting
    }
    if begins { Task { await self.writeBatches() } }
  }

  /// See ``LedgerEntry/settle(_:result:at:)``. Suspends until the commit.
  func settle(_ claim: LedgerClaim, result: [UInt8], at time: UnixTime) async throws(StoreError) -> [UInt8]? {
    guard case .settled(let standing) = try await write(.settle(claim, result: result, at: time)).get() else {
      throw .wrongAnswer
    }
    return standing
  }

  var waitingCount: Int { state.withLock { $0.waiting.count } }
  var failedCount: Int { state.withLock { $0.failedClaims.count } }

  private func write(_ entry: LedgerEntry) async -> Answer {
    await withCheckedContinuation { continuation in
      let begins = state.withLock { state in
        state.waiting.append(WaitingEntry(entry: entry, continuation: continuation))
        defer { state.isWriting = true }
        return !state.isWriting
      }
      if begins { Task { await self.writeBatches() } }
    }
  }

  private func writeBatches() async {
    while let (failed, batch) = nextBatch() {
      let answers = await ledger.write(failed.map(LedgerEntry.forget) + batch.map(\.entry))
      let kept = failed.indices.filter { index in
        if index < answers.count, case .success = answers[index] { false } else { true }
      }
      if !kept.isEmpty { state.withLock { $0.failedClaims += kept.map { failed[$0] } } }
      for (index, waiting) in batch.enumerated() {
        let place = failed.count + index
        waiting.continuation.resume(returning: place < answers.count ? answers[place] : .failure(.wrongAnswer))
      }
    }
  }

  /// Failed claims come first: the next claim of the same job may be in the same batch.
  private func nextBatch() -> (failed: [LedgerClaim], entries: [WaitingEntry])? {
    state.withLock { state in
      state.isWriting = state.hasFailed || !state.waiting.isEmpty
      guard state.isWriting else { return nil }
      state.hasFailed = false
      let failed = Array(state.failedClaims.prefix(LedgerEntry.maxBatch / 2))
      state.failedClaims.removeFirst(failed.count)
      let batch = Array(state.waiting.prefix(LedgerEntry.maxBatch - failed.count))
      state.waiting.removeFirst(batch.count)
      return (failed, batch)
    }
  }
}

extension StoreError {
  fileprivate static let wrongAnswer = StoreError(.unavailable, "the answer does not belong to the entry")
}
