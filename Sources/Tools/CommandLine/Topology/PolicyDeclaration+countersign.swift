import CountersignMessages

extension PolicyDeclaration {
  static let countersign =
    TopologyDeclaration.workQueues.map(work)
    + Topology.Queues.jobs.flatMap { queue in RetryStep.allCases.map { retry(queue, $0) } }
    + [delayed, dead, lock, services, serviceStreams, events]

  /// Maximum number of deliveries of a message before it is dead-lettered. Prefetched messages are counted too, so a
  /// harmless one must never reach it.
  ///
  /// Of 512 prefetched messages any number may crash the process, each three times alone and once with its group of 16:
  /// at most 2 + 512 / 16 + 3 × 511 = 1,567 deliveries.
  static let deliveryLimit: Int64 = 2000

  /// Maximum number of messages in a queue. Beyond it the broker refuses publishers, which try again, instead of
  /// running out of memory: a quorum queue keeps about 100 bytes of each message there.
  static let lengthLimit: Int64 = 2_000_000

  /// Maximum size of the bodies in a queue, in bytes. Two million codes of some 500 bytes reach both bounds at once.
  /// Without it, two million bodies of 64 KiB would take 131 GB.
  ///
  /// All queues at their bounds, those of services included, take 45 GiB of disk.
  static let bytesLimit: Int64 = 1 << 30

  /// Policy of a work queue. At-least-once dead-lettering requires `reject-publish`; with any other overflow the broker
  /// falls back to at most once, which it only logs (RabbitMQ guide "Dead Letter Exchanges", at-least-once).
  private static func work(_ queue: String) -> PolicyDeclaration {
    PolicyDeclaration(
      name: "countersign.work.\(queue)", pattern: NamePattern.names([queue]),
      definition: [
        "dead-letter-exchange": .text(Topology.Exchanges.dead),
        // A dead queue is bound under the name of its work queue; results arrive under many keys.
        "dead-letter-routing-key": .text(queue),
        "dead-letter-strategy": "at-least-once",
        "delivery-limit": .integer(deliveryLimit),
        "max-length": .integer(lengthLimit),
        "max-length-bytes": .integer(bytesLimit),
        "overflow": "reject-publish",
      ])
  }

  /// Bounds of a delay queue, a quarter of those of a work queue, because each work queue has five. A job that finds
  /// its delay queue full stays in its work queue.
  static let delayedLengthLimit = lengthLimit / 4
  static let delayedBytesLimit = bytesLimit / 4

  /// Policy of a delay queue. The fixed dead-letter routing key, which also removes `CC`, returns its messages to their
  /// own work queue, whatever their author wrote: the broker keeps 32 unconfirmed dead letters of a queue and tries
  /// each again after three minutes, so a destination that takes none stops a whole delay queue.
  private static func retry(_ queue: String, _ step: RetryStep) -> PolicyDeclaration {
    let name = Topology.Queues.retry(queue, step)
    return PolicyDeclaration(
      name: name, pattern: NamePattern.names([name]),
      definition: [
        "dead-letter-exchange": .text(Topology.Exchanges.delayed),
        "dead-letter-routing-key": .text(queue),
        "dead-letter-strategy": "at-least-once",
        "message-ttl": .integer(step.delay.components.seconds * 1000),
        "max-length": .integer(delayedLengthLimit),
        "max-length-bytes": .integer(delayedBytesLimit),
        "overflow": "reject-publish",
      ])
  }

  /// Policy by which jobs become dead letters whose work queue, or its binding, is gone. The exchange of the jobs has no
  /// such policy: there the publisher is told.
  private static let delayed = PolicyDeclaration(
    name: Topology.Exchanges.delayed, pattern: NamePattern.names([Topology.Exchanges.delayed]), target: .exchanges,
    definition: ["alternate-exchange": .text(Topology.Exchanges.dead)])

  /// Time that dead letters are kept: longer than a holiday of the operator. Dead commands may hold phone numbers, and
  /// codes and tokens that their sender did not seal, which must not be kept forever.
  static let deadLetterAge = Duration.seconds(14 * 86_400)

  /// Policy of the lock queues, which stay empty. With `reject-publish`, publishers would try again. Without `expires`,
  /// because an unused queue must survive until its service starts.
  ///
  /// A classic queue is on one node of a cluster. Mirrors on the others take over with the lock as it is. (RabbitMQ 4
  /// has no mirrors.)
  private static let lock = PolicyDeclaration(
    name: "countersign.lock", pattern: NamePattern.names(Topology.Queues.locks),
    definition: [
      "ha-mode": "all", "ha-promote-on-shutdown": "always", "max-length": 1, "max-length-bytes": 1024,
      "overflow": "drop-head",
    ])

  /// Policy of the dead queues. Listing a dead queue returns its messages, which the broker counts as deliveries.
  /// RabbitMQ 4 drops a message after 20 of them unless a policy sets another limit; -1 means no limit there and one
  /// delivery in 3.10, so the limit is a number that is never reached.
  private static let dead = PolicyDeclaration(
    name: "countersign.dead", pattern: NamePattern.names(TopologyDeclaration.deadQueues),
    definition: [
      "delivery-limit": 1_000_000,
      "message-ttl": .integer(deadLetterAge.components.seconds * 1000),
      "max-length": .integer(lengthLimit),
      "max-length-bytes": .integer(bytesLimit),
      "overflow": "reject-publish",
    ])
}
