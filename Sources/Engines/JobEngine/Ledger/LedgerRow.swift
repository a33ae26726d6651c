import CountersignTelemetry

enum LedgerState: Int64 {
  /// No claim is open. Earlier calls ended unknown.
  case idle = 0
  /// A claim is open: a call may have begun.
  case open = 1
  /// It ended. The result is recorded.
  case settled = 2
}

/// Every database's ledger decides by it.
struct LedgerRow: Sendable, Hashable {
  var state: LedgerState
  var token: Int64
  var lane: String
  var leaseUntil: UnixTime
  var unknownCalls: Int
  var writtenAt: UnixTime
  var result: [UInt8] = []
}

extension LedgerRow {
  enum Consequence: Sendable, Hashable {
    case answer(ClaimAnswer)
    /// The open claim comes from the future, since when the clock was set back. From now on it runs for its original
    /// duration, so that a job whose worker died does not wait until the clock has caught up.
    case shorten(until: UnixTime)
    /// The job is the claimant's, with this count of calls.
    case takeOver(unknownCalls: Int, ClaimAnswer)
  }

  func consequence(of claim: LedgerClaim) -> Consequence {
    let now = claim.times.now
    switch state {
    case .settled: return .answer(.settled(result: result))
    case .open where token == claim.token:
      // The same claim again: an earlier attempt was committed although it seemed to fail.
      return .answer(.claimed(unknownCalls: unknownCalls))
    // Calls before the failed claim are to be looked up, which the end of its lease tells.
    case .open where unknownCalls == 0 && claim.failedTokens.contains(token):
      return .takeOver(unknownCalls: 0, .claimed(unknownCalls: 0))
    case .open where writtenAt - now > LeaseClock.tolerance: return .shorten(until: now + (leaseUntil - writtenAt))
    case .open where leaseUntil > claim.times.judgedAt: return .answer(.held(until: leaseUntil))
    case .open:
      let calls = unknownCalls + 1
      return .takeOver(unknownCalls: calls, .abandoned(lane: lane.isEmpty ? nil : lane, unknownCalls: calls))
    case .idle: return .takeOver(unknownCalls: unknownCalls, .claimed(unknownCalls: unknownCalls))
    }
  }
}
