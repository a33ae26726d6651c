internal import CountersignMessages

extension PolicyDeclaration {
  /// The policies of the topology.
  static let countersign =
    TopologyDeclaration.workQueues.map(work) + RetryStep.allCases.map(retry) + [dead, lock, services, serviceStreams]

  /// Number of times that a message may come back before it is dead. It counts messages, too, that were only prefetched when a process
  /// died, so no innocent one may ever reach it: processes find the message that ends them themselves, in fewer deliveries.
  ///
  /// Of the messages that a process takes ahead, 512 as a rule, any number may be such that end it. Each of them does so three
  /// times alone, and their groups of 16 once each: 2 + 512 / 16 + 3 × 511 = 1,567 deliveries at most for the one that is not.
  /// (Attempts are counted elsewhere, in the header `x-attempt`.)
  static let deliveryLimit: Int64 = 2000

  /// How many messages may wait in a queue. Beyond that publishers are refused (and try again), instead of the broker
  /// running out of memory: a quorum queue keeps about 100 bytes of each message there.
  static let lengthLimit: Int64 = 2_000_000

  /// Bytes of bodies that may wait in a queue. Two million codes of some 500 bytes each reach both bounds at once; of bodies as large
  /// as the contract allows, 64 KiB, it is 16,384. Without it those two million would take 131 GB.
  ///
  /// All queues at their bounds take 27 GiB of the broker's disk; README says how much to give it.
  static let bytesLimit: Int64 = 1 << 30

  /// Dead-lettering at least once needs `reject-publish`; with any other overflow the broker falls back to at most once
  /// and says so in its log only (RabbitMQ guide "Dead Letter Exchanges", at-least-once).
  private static func work(_ queue: String) -> PolicyDeclaration {
    PolicyDeclaration(
      name: "countersign.work.\(queue)", pattern: NamePattern.names([queue]),
      definition: [
        "dead-letter-exchange": .text(Topology.Exchanges.dead),
        // Results arrive under many keys, but a dead queue is bound under one: the name of the queue.
        "dead-letter-routing-key": .text(queue),
        "dead-letter-strategy": "at-least-once",
        "delivery-limit": .integer(deliveryLimit),
        "max-length": .integer(lengthLimit),
        "max-length-bytes": .integer(bytesLimit),
        "overflow": "reject-publish",
      ])
  }

  /// Without a dead-letter routing key the message keeps its own, and so goes back to the queue it came from.
  private static func retry(_ step: RetryStep) -> PolicyDeclaration {
    PolicyDeclaration(
      name: step.queue, pattern: NamePattern.names([step.queue]),
      definition: [
        "dead-letter-exchange": .text(Topology.Exchanges.jobs),
        "dead-letter-strategy": "at-least-once",
        "message-ttl": .integer(step.delay.components.seconds * 1000),
        "max-length": .integer(lengthLimit),
        "max-length-bytes": .integer(bytesLimit),
        "overflow": "reject-publish",
      ])
  }

  /// Time that dead letters are kept: over a holiday, and no longer than somebody will look. Commands that were given up may hold numbers, and
  /// codes and tokens that their sender did not seal, which must not stay for ever.
  static let deadLetterAge = Duration.seconds(14 * 86_400)

  /// Nothing is meant to be in it, and nothing may grow in it. Refusing would have workers and coordinator try again. No `expires`: it is
  /// unused while no coordinator runs, and none could run without it.
  private static let lock = PolicyDeclaration(
    name: "countersign.lock", pattern: NamePattern.names([Topology.Queues.commandsLock]),
    definition: ["max-length": 1, "max-length-bytes": 1024, "overflow": "drop-head"])

  /// Looking at a dead queue returns its messages, which the broker counts as deliveries. RabbitMQ 4 drops a message
  /// after 20 of them unless the policy says otherwise; -1 means no limit there and one delivery in 3.10, so the limit is
  /// a number that is never reached.
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
