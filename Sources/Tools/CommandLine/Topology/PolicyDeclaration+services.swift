import CountersignMessages

/// Policies of the queues that services own. A service may forget a queue, or bind it to all events and read none;
/// without bounds the broker would run out of memory or disk and block all publishers.
extension PolicyDeclaration {
  /// Time that an unused queue is kept, in milliseconds: longer than a restart or a deployment of its owner.
  static let servicesExpiry: Int64 = 10 * 60 * 1000

  /// Maximum number of messages that wait for a service: half a minute of events at a few hundred a second. Replies are
  /// worthless after the timeout of their request.
  static let servicesLength: Int64 = 10_000

  /// Maximum size of the bodies that wait for a service, in bytes: ten thousand of the usual 400 bytes take a quarter
  /// of it. The maximum number of queues takes 15.6 GiB.
  static let servicesBytes: Int64 = 16 << 20

  /// Policy that drops the oldest messages: a queue that refused messages would make the broker refuse the coordinator.
  static let services = PolicyDeclaration(
    name: "countersign.services", pattern: servicesPattern,
    definition: [
      "expires": .integer(servicesExpiry),
      "max-length": .integer(servicesLength),
      "max-length-bytes": .integer(servicesBytes),
      "overflow": "drop-head",
    ])

  /// Policy of streams, which have neither `expires` nor `max-length`, so that the policy above does not apply to them.
  /// Streams drop whole segments, of 500 MB by default; the policy overrides the arguments of the stream's owner.
  static let serviceStreams = PolicyDeclaration(
    name: "countersign.services.streams", pattern: servicesPattern, priority: priority - 1,
    definition: [
      "max-length-bytes": .integer(servicesBytes), "stream-max-segment-size-bytes": .integer(servicesBytes / 4),
    ])

  /// Time that events are kept for a service that is away, in milliseconds: a long weekend.
  static let eventsAge: Int64 = 3 * 86_400 * 1000

  /// Maximum number of events that are kept for a service, and of their bodies' bytes: at the usual 400 bytes both are
  /// reached together, after half a day at ten events a second.
  static let eventsLength: Int64 = 500_000
  static let eventsBytes: Int64 = 256 << 20

  /// Policy of the queues of events that outlive their readers. They do not expire; the oldest events go first.
  static let events = PolicyDeclaration(
    name: "countersign.events", pattern: NamePattern.names([], or: ["countersign\\.events\\..+"]),
    definition: [
      "message-ttl": .integer(eventsAge),
      "max-length": .integer(eventsLength),
      "max-length-bytes": .integer(eventsBytes),
      "overflow": "drop-head",
    ])

  private static let servicesPattern =
    NamePattern.names([], or: [ServiceRights.brokerNamedQueues, "countersign\\.reply\\..*"])
}
