public import CountersignTelemetry

/// What a ledger says to a claim.
public enum ClaimAnswer: Sendable, Hashable {
  /// The job is the claimant's. `unknownCalls` earlier calls ended without anybody knowing how.
  case claimed(unknownCalls: Int)
  /// The job ended before, with this result.
  case settled(result: [UInt8])
  /// Another claim holds it, until then at the latest.
  case held(until: UnixTime)
  /// An earlier claim ran out: its call, through `lane`, ended unknown. The job is the claimant's now; `unknownCalls`
  /// counts that call too.
  case abandoned(lane: String?, unknownCalls: Int)
}
