import CountersignTelemetry

/// A temporary block on sending to a prefix or a region.
struct ConversionBlock: Sendable, Hashable {
  /// Kind of the blocked key. Stored, so it never changes its meaning.
  enum Scope: String, Sendable, CaseIterable {
    case prefix, region
  }

  var scope: Scope
  /// The prefix or the region. A region's code has no `+`, and the calling code of numbers without a country (`+883`)
  /// is not the prefix of any number, because all of those have more than four digits after it; so a key is unique
  /// without its scope.
  var key: String
  var region: String
  var blockedAt: UnixTime
  var until: UnixTime
  var liftedAt: UnixTime?
  /// Counts at the time of the block.
  var counts: ConversionCounts

  /// End of the block, past or future. Verifications that began before it no longer count against the key: they were
  /// judged already, or began while judged traffic continued.
  var end: UnixTime { liftedAt ?? until }

  func isInForce(at now: UnixTime) -> Bool {
    now < end
  }
}
