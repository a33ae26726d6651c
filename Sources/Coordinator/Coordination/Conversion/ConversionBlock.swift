import CountersignMessages
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

  /// The `message_id` of an event about the block.
  func eventID(_ what: String) -> String {
    "conversion.\(key).\(blockedAt.milliseconds).\(what)"
  }
}

/// Number of codes that were sent, and of those that came back.
struct ConversionCounts: Sendable, Hashable {
  /// Verifications that have ended and for which an SMS was sent that no provider reports as undelivered.
  var sent = 0
  /// Those among them that were approved.
  var verified = 0
}

// MARK: Messages

extension ConversionBlocked {
  init(_ block: ConversionBlock, _ policy: ConversionPolicy) {
    self.init(
      ConversionList.Block(block), floorPercent: policy.floor(of: block.region),
      windowSeconds: Int(policy.window.components.seconds))
  }
}

extension ConversionLifted {
  init(_ block: ConversionBlock, at now: UnixTime) {
    self.init(
      scope: ConversionScope(block.scope), key: block.key, region: block.region, blockedAt: block.blockedAt,
      until: block.until, liftedAt: now)
  }
}

extension ConversionList.Block {
  init(_ block: ConversionBlock) {
    self.init(
      scope: ConversionScope(block.scope), key: block.key, region: block.region, blockedAt: block.blockedAt,
      until: block.until, sent: block.counts.sent, verified: block.counts.verified)
  }
}

extension ConversionScope {
  init(_ scope: ConversionBlock.Scope) {
    switch scope {
    case .prefix: self = .prefix
    case .region: self = .region
    }
  }
}
