public import CountersignTelemetry

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
