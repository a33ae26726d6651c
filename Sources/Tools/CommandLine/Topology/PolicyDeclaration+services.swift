internal import CountersignMessages

/// Bounds of the queues that services own. Whoever declares a queue and forgets it, or binds it to all events and reads none, fills
/// it; a broker that runs out of memory or disk for it would block all publishers.
extension PolicyDeclaration {
  /// Time a queue that nobody uses is kept: longer than a restart or a deployment of its owner.
  static let servicesExpiry: Int64 = 10 * 60 * 1000

  /// Messages that wait for a service. Replies are worth nothing after their request's time-out, and events arrive at a few hundred a
  /// second at most: half a minute of them.
  static let servicesLength: Int64 = 10_000

  /// Bytes of bodies that wait for a service: ten thousand of the usual 400 bytes take a quarter of it. Times the most queues there
  /// can be, 15.6 GiB.
  static let servicesBytes: Int64 = 16 << 20

  /// The oldest go first, because a queue that refused would have the broker refuse the publisher: the coordinator.
  static let services = PolicyDeclaration(
    name: "countersign.services", pattern: servicesPattern,
    definition: [
      "expires": .integer(servicesExpiry),
      "max-length": .integer(servicesLength),
      "max-length-bytes": .integer(servicesBytes),
      "overflow": "drop-head",
    ])

  /// Streams know neither `expires` nor `max-length`, so the policy above does not apply to them. They drop whole segments, which would
  /// be of 500 MB; the policy goes before what the stream's owner asks for.
  static let serviceStreams = PolicyDeclaration(
    name: "countersign.services.streams", pattern: servicesPattern, priority: priority - 1,
    definition: [
      "max-length-bytes": .integer(servicesBytes), "stream-max-segment-size-bytes": .integer(servicesBytes / 4),
    ])

  private static let servicesPattern =
    NamePattern.names([], or: [ServiceRights.brokerNamedQueues, "countersign\\.reply\\..*"])
}
