import CountersignTelemetry

enum SlotAnswer: Sendable, Hashable {
  /// A slot. It has to be returned with ``Lane/finish(_:_:now:)``.
  case granted(SlotGrant)
  /// The lane is down. It is probed or tried again at that time.
  case down(Reason, until: MonotonicTime)
  case busy
  /// The worker is stopping and begins no further calls.
  case stopping
}

struct SlotGrant: Sendable, Hashable {
  /// Lane generation the slot was granted in. Results from earlier generations are ignored.
  var epoch: Int
  /// Whether this call decides if a lane that was down works again.
  var isTrial: Bool
}
