import CountersignEncoding
import CountersignMessages

/// RabbitMQ applies one policy to each, the one with the highest priority of those that match and that its type
/// supports, and never merges two.
enum PolicyDeclaration {
  static let countersign: [BrokerObject] =
    TopologyDeclaration.workQueues.filter { $0 != Topology.Queues.webhookEvents }.map(work)
    + Topology.Queues.jobs.flatMap { queue in RetryStep.allCases.map { retry(queue, $0) } }
    + [delayed, dead, lock, webhookEvents, services, serviceStreams, events]

  /// A site that needs other values defines its own policy with a higher priority, and `topology check` lists the
  /// queues it covers.
  static let priority = 10

  private static func policy(
    _ name: String, _ pattern: String, _ definition: [String: JSONValue], priority: Int = Self.priority,
    applyTo target: String = "queues"
  ) -> BrokerObject {
    BrokerObject(
      kind: .policies,
      members: [
        "name": .text(name), "pattern": .text(pattern), "apply-to": .text(target),
        "priority": .integer(Int64(priority)),
        "definition": .object(definition),
      ])
  }

  /// Maximum number of deliveries of a message before it is dead-lettered. Prefetched messages are counted too, so a
  /// harmless one must never reach it.
  ///
  /// Of 512 prefetched messages any number may crash the process, each three times alone and once with its group of 16:
  /// at most 2 + 512 / 16 + 3 × 511 = 1,567 deliveries.
  static let deliveryLimit: Int64 = 2000

  /// Beyond it the broker refuses publishers, which try again, instead of running out of memory: a quorum queue keeps
  /// about 100 bytes of each message there.
  static let lengthLimit: Int64 = 2_000_000

  /// Maximum size of the bodies in a queue, in bytes. Two million codes of some 500 bytes reach both bounds at once.
  /// Without it, two million bodies of 64 KiB would take 131 GB.
  ///
  /// All queues at their bounds, those of services included, take 50 GiB of disk.
  static let bytesLimit: Int64 = 1 << 30

  private static func bounds(_ length: Int64, _ bytes: Int64, overflow: JSONValue) -> [String: JSONValue] {
    ["max-length": .integer(length), "max-length-bytes": .integer(bytes), "overflow": overflow]
  }

  /// At-least-once dead-lettering requires `reject-publish`. With any other overflow the broker falls back to at most
  /// once, which it only logs (RabbitMQ guide "Dead Letter Exchanges", at-least-once). The fixed routing key also
  /// removes `CC`.
  private static func deadLettering(
    to exchange: String, as key: String, _ length: Int64, _ bytes: Int64, _ further: [String: JSONValue]
  ) -> [String: JSONValue] {
    let letters: [String: JSONValue] = [
      "dead-letter-exchange": .text(exchange), "dead-letter-routing-key": .text(key),
      "dead-letter-strategy": "at-least-once",
    ]
    return letters.merging(bounds(length, bytes, overflow: "reject-publish")) { $1 }.merging(further) { $1 }
  }

  private static func work(_ queue: String) -> BrokerObject {
    policy(
      "countersign.work.\(queue)", NamePattern.names([queue]),
      deadLettering(
        to: Topology.Exchanges.dead, as: queue, lengthLimit, bytesLimit, ["delivery-limit": .integer(deliveryLimit)]))
  }

  /// Bounds of a delay queue, a quarter of those of a work queue, because each work queue has five. A job that finds
  /// its delay queue full stays in its work queue.
  static let delayedLengthLimit = lengthLimit / 4
  static let delayedBytesLimit = bytesLimit / 4

  /// The fixed dead-letter routing key returns its messages to their own work queue, whatever their author wrote: the
  /// broker keeps 32 unconfirmed dead letters of a queue and tries each again after three minutes, so a destination
  /// that takes none stops a whole delay queue.
  private static func retry(_ queue: String, _ step: RetryStep) -> BrokerObject {
    let name = Topology.Queues.retry(queue, step)
    return policy(
      name, NamePattern.names([name]),
      deadLettering(
        to: Topology.Exchanges.delayed, as: queue, delayedLengthLimit, delayedBytesLimit,
        ["delivery-limit": endlessDeliveries, "message-ttl": .integer(step.delay.components.seconds * 1000)]))
  }

  /// Policy by which jobs become dead letters whose work queue, or its binding, is gone. The exchange of the jobs has no
  /// such policy: there the publisher is told.
  private static let delayed = policy(
    Topology.Exchanges.delayed, NamePattern.names([Topology.Exchanges.delayed]),
    ["alternate-exchange": .text(Topology.Exchanges.dead)], applyTo: "exchanges")

  /// Longer than a holiday of the operator. Dead commands may hold phone numbers, and codes and tokens that their
  /// sender did not seal, which must not be kept forever.
  static let deadLetterAge = Duration.seconds(14 * 86_400)

  /// Policy of the lock queues, which stay empty. With `reject-publish`, publishers would try again. Without `expires`,
  /// because an unused queue must survive until its service starts.
  ///
  /// A classic queue is on one node of a cluster. Mirrors on the others take over with the lock as it is. (RabbitMQ 4
  /// has no mirrors.)
  private static let lock = policy(
    "countersign.lock", NamePattern.names(Topology.Queues.locks),
    bounds(1, 1024, overflow: "drop-head").merging(["ha-mode": "all", "ha-promote-on-shutdown": "always"]) { $1 })

  /// Delivery limit that is never reached. Listing dead letters or delayed jobs returns them, which the broker counts as
  /// deliveries. RabbitMQ 4 drops a message after 20 of them unless a policy sets another limit; -1 means no limit there
  /// and one delivery in 3.10.
  private static let endlessDeliveries: JSONValue = 1_000_000

  private static let dead = policy(
    "countersign.dead", NamePattern.names(TopologyDeclaration.deadQueues),
    bounds(lengthLimit, bytesLimit, overflow: "reject-publish").merging([
      "delivery-limit": endlessDeliveries, "message-ttl": .integer(deadLetterAge.components.seconds * 1000),
    ]) { $1 })

  /// Policy of the events for webhooks. The oldest events go first: a queue that refused messages would make the broker
  /// refuse the coordinator. Without a dead-letter exchange, to which the broker would move what it drops. Where no webhook-worker runs,
  /// they go by their age.
  private static let webhookEvents = policy(
    "countersign.webhook.events", NamePattern.names([Topology.Queues.webhookEvents]),
    bounds(lengthLimit, bytesLimit, overflow: "drop-head").merging([
      "delivery-limit": .integer(deliveryLimit), "message-ttl": .integer(eventsAge),
    ]) { $1 })

  // MARK: - Queues that services own

  // A service may forget a queue, or bind it to all events and read none; without bounds the broker would run out of
  // memory or disk and block all publishers. The oldest messages are dropped: a queue that refused messages would make
  // the broker refuse the coordinator.

  /// In milliseconds: longer than a restart or a deployment of its owner.
  static let servicesExpiry: Int64 = 10 * 60 * 1000

  /// Half a minute of events at a few hundred a second. Replies are worthless after the timeout of their request.
  static let servicesLength: Int64 = 10_000

  /// Maximum size of the bodies that wait for a service, in bytes: ten thousand of the usual 400 bytes take a quarter
  /// of it. The maximum number of queues takes 15.6 GiB.
  static let servicesBytes: Int64 = 16 << 20

  private static let services = policy(
    "countersign.services", servicesPattern,
    bounds(servicesLength, servicesBytes, overflow: "drop-head").merging(["expires": .integer(servicesExpiry)]) { $1 })

  /// Policy of streams, which have neither `expires` nor `max-length`, so that the policy above does not apply to them.
  /// Streams drop whole segments, of 500 MB by default; the policy overrides the arguments of the stream's owner.
  private static let serviceStreams = policy(
    "countersign.services.streams", servicesPattern,
    [
      "max-length-bytes": .integer(servicesBytes), "stream-max-segment-size-bytes": .integer(servicesBytes / 4),
    ], priority: priority - 1)

  /// In milliseconds: a long weekend.
  static let eventsAge: Int64 = 3 * 86_400 * 1000

  /// Maximum number of events that are kept for a service, and of their bodies' bytes: at the usual 400 bytes both are
  /// reached together, after half a day at ten events a second.
  static let eventsLength: Int64 = 500_000
  static let eventsBytes: Int64 = 256 << 20

  /// Policy of the queues of events that outlive their readers. They do not expire; the oldest events go first.
  static let events = policy(
    "countersign.events", NamePattern.names([], or: ["countersign\\.events\\..+"]),
    bounds(eventsLength, eventsBytes, overflow: "drop-head").merging(["message-ttl": .integer(eventsAge)]) { $1 })

  private static let servicesPattern =
    NamePattern.names([], or: [ServiceRights.brokerNamedQueues, "countersign\\.reply\\..*"])
}
