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
    var isWriting = false
  }

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

  /// See ``LedgerEntry/settle(_:result:at:)``. Suspends until the commit.
  func settle(_ claim: LedgerClaim, result: [UInt8], at time: UnixTime) async throws(StoreError) -> [UInt8]? {
    guard case .settled(let standing) = try await write(.settle(claim, result: result, at: time)).get() else {
      throw .wrongAnswer
    }
    return standing
  }

  var waitingCount: Int { state.withLock { $0.waiting.count } }

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
    while let batch = nextBatch() {
      let answers = await ledger.write(batch.map(\.entry))
      for (index, waiting) in batch.enumerated() {
        waiting.continuation.resume(returning: index < answers.count ? answers[index] : .failure(.wrongAnswer))
      }
    }
  }

  private func nextBatch() -> [WaitingEntry]? {
    state.withLock { state in
      let batch = Array(state.waiting.prefix(LedgerEntry.maxBatch))
      state.waiting.removeFirst(batch.count)
      state.isWriting = !batch.isEmpty
      return batch.isEmpty ? nil : batch
    }
  }
}

extension StoreError {
  fileprivate static let wrongAnswer = StoreError(.unavailable, "the answer does not belong to the entry")
}
