import CountersignMessages

extension TopologyDeclaration {
  /// The topology of Countersign.
  ///
  /// Each work queue of jobs has an exchange for its delayed jobs, a queue for each retry delay, whose time to live is
  /// the delay (per-message expiry would block at the head), and a dead queue. A job type without a consumer has no
  /// queue: the broker returns such a job at once.
  public static let countersign = TopologyDeclaration(
    exchanges: Topology.exchanges.map {
      TopologyExchange(name: $0.name, kind: TopologyExchange.Kind(rawValue: $0.kind) ?? .direct)
    },
    // Dead queues first: a message that dies before its dead queue exists waits three minutes for the broker's next
    // try, or is lost.
    queues: (deadQueues + delayQueues + workQueues).map { TopologyQueue(name: $0) } + locks,
    bindings: Topology.bindings.map(TopologyBinding.init),
    policies: PolicyDeclaration.countersign)

  /// Quorum queues take no exclusive consumers.
  private static let locks = Topology.Queues.locks.map { TopologyQueue(name: $0, kind: .classic) }

  /// Names of the dead queues.
  public static let deadQueues = workQueues.map { Topology.Queues.dead($0) }

  /// Names of the queues of delayed jobs.
  public static let delayQueues = Topology.Queues.jobs.flatMap { queue in
    RetryStep.allCases.map { Topology.Queues.retry(queue, $0) }
  }

  /// Queues that a process consumes, now or in a later version.
  static let workQueues = Topology.Queues.work + Topology.Queues.accounts
}

extension TopologyBinding {
  fileprivate init(_ binding: Topology.Binding) {
    self.init(exchange: binding.exchange, queue: binding.queue, routingKey: binding.routingKey)
  }
}
