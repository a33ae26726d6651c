import CountersignMessages

/// Exchanges, queues, bindings and policies of Countersign.
///
/// Each work queue of jobs has an exchange for its delayed jobs, a queue for each retry delay, whose time to live is
/// the delay (per-message expiry would block at the head), and a dead queue. A job type without a consumer has no
/// queue: the broker returns such a job at once.
enum TopologyDeclaration {
  /// Objects in the order in which to declare them: policies before their queues, so that no queue ever works without
  /// its policy, then exchanges, queues and bindings.
  static let countersign: [BrokerObject] = PolicyDeclaration.countersign + exchanges + queues + locks + bindings

  private static let exchanges = Topology.exchanges.map { BrokerObject.exchange($0.name, $0.kind) }

  /// Dead queues come first: a message that dies before its dead queue exists waits three minutes for the broker's next
  /// try, or is lost.
  private static let queues = (deadQueues + delayQueues + workQueues).map { name in
    BrokerObject.queue(name, isSerial: name == Topology.Queues.webhookEvents)
  }

  /// Quorum queues take no exclusive consumers.
  private static let locks = Topology.Queues.locks.map { BrokerObject.queue($0, "classic") }

  private static let bindings = Topology.bindings.map {
    BrokerObject.binding(of: $0.queue, to: $0.exchange, under: $0.routingKey)
  }

  static let deadQueues = workQueues.map { Topology.Queues.dead($0) }

  static let delayQueues = Topology.Queues.jobs.flatMap { queue in
    RetryStep.allCases.map { Topology.Queues.retry(queue, $0) }
  }

  /// Queues that a process consumes, now or in a later version.
  static let workQueues = Topology.Queues.work + Topology.Queues.services
}
