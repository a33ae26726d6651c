import CountersignTelemetry

/// That nothing is sent to a prefix or a region for a while.
struct ConversionBlock: Sendable, Hashable {
  /// What is blocked. Stored, so it never changes its meaning.
  enum Scope: String, Sendable, CaseIterable {
    case prefix, region
  }

  var scope: Scope
  /// The prefix or the region. A region's code has no `+`, and the calling code of numbers without a country (`+883`) is no number's
  /// prefix, because all of those have more than four digits behind it; so a key needs no scope to be found.
  var key: String
  var region: String
  var blockedAt: UnixTime
  var until: UnixTime
  var liftedAt: UnixTime?
  /// What was counted when it was blocked.
  var counts: ConversionCounts

  /// When it ended or ends. Verifications that began before are not held against the key any more: they were judged, or began while
  /// what was judged went on.
  var end: UnixTime { liftedAt ?? until }

  func isInForce(at now: UnixTime) -> Bool {
    now < end
  }
}
