import CountersignTelemetry

/// What asking a lane for a slot came to.
enum SlotAnswer: Sendable, Hashable {
  /// A slot; it has to be given back with `Lane.finish`.
  case granted(SlotGrant)
  /// The lane is down; it is asked or tried again at that time.
  case down(Reason, until: MonotonicTime)
  /// The time that the caller would wait is over.
  case busy
  /// The worker is stopping and begins nothing more.
  case stopping
}

/// A slot of a lane.
struct SlotGrant: Sendable, Hashable {
  /// Which up-time of the lane the slot belongs to. What a call of an earlier one says is no news of the lane.
  var epoch: Int
  /// Whether this call decides if a lane that was down works again.
  var isTrial: Bool
}
