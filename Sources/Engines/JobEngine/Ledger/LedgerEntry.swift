public import CountersignTelemetry

/// One change to the record of a job.
public enum LedgerEntry: Sendable, Hashable {
  /// Claims the job for a call, or returns its known state. At most one of several claimants gets it.
  case claim(LedgerClaim)
  /// Releases a claim whose call surely had no effect. Nothing happens when the claim is no longer this one.
  case release(LedgerClaim)
  /// Releases a claim whose call ended with an unknown outcome, so that the job may be tried again and the count of
  /// such calls is kept.
  case postpone(LedgerClaim)
  /// Forgets a claim that failed, so that no call followed, in case that it was recorded nonetheless. One that took the
  /// place of earlier calls stays: it alone says that their outcome is to be looked up.
  case forget(LedgerClaim)
  /// Records the result of a job. The first recorded one stands.
  case settle(LedgerClaim, result: [UInt8], at: UnixTime)

  /// Maximum number of entries of a batch. The next batch gathers meanwhile, so a larger one saves little, and other
  /// processes wait for its end.
  public static let maxBatch = 64

  /// The claim that the entry is about.
  public var claim: LedgerClaim {
    switch self {
    case .claim(let claim), .release(let claim), .postpone(let claim), .forget(let claim), .settle(let claim, _, _):
      claim
    }
  }
}

/// A ledger's answer to an entry, in the same order of cases as the entries.
public enum LedgerAnswer: Sendable, Hashable {
  case claim(ClaimAnswer)
  /// A claim was released, postponed or forgotten, or was no longer this one.
  case done
  /// Answer to a settlement: `nil` when this result stands, otherwise the earlier one.
  case settled(standing: [UInt8]?)
}

/// A ledger's answer to a claim.
public enum ClaimAnswer: Sendable, Hashable {
  /// The job is the claimant's. `unknownCalls` earlier calls ended with an unknown outcome.
  case claimed(unknownCalls: Int)
  /// The job ended before, with this result.
  case settled(result: [UInt8])
  /// Another claim holds it, until then at the latest.
  case held(until: UnixTime)
  /// An earlier claim expired: its call, through `lane`, ended unknown. The job is the claimant's now; `unknownCalls`
  /// includes that call.
  case abandoned(lane: String?, unknownCalls: Int)
}
