internal import CountersignMessages

extension TopologyDeclaration {
  /// The topology of Countersign.
  ///
  /// - A delay is a fanout exchange and a queue whose time to live is the delay, dead-lettered to the jobs exchange under
  ///   the unchanged routing key. Per-message expiry would block at the head of the queue.
  /// - Each work queue has a dead queue, bound under the work queue's name.
  /// - A job type that no process of this version consumes has no queue: publishing it is answered as unroutable at
  ///   once, instead of waiting for a worker that nobody runs. For the same reason nothing but dead letters is bound to the
  ///   queues of `accounts` before there is one.
  public static let countersign = TopologyDeclaration(
    exchanges: Topology.exchanges.map {
      ExchangeDeclaration(name: $0.name, kind: ExchangeDeclaration.Kind(rawValue: $0.kind) ?? .direct)
    },
    // Dead queues first: a message that dies before its dead queue exists waits three minutes for the next try of the
    // broker, or is lost.
    queues: (deadQueues + RetryStep.allCases.map(\.queue) + workQueues).map { QueueDeclaration(name: $0) }
      + [lock],
    bindings: Topology.bindings.map(BindingDeclaration.init),
    policies: PolicyDeclaration.countersign,
    formerBindings: Topology.formerBindings.map(BindingDeclaration.init))

  /// Quorum queues take no exclusive consumers.
  private static let lock = QueueDeclaration(name: Topology.Queues.commandsLock, kind: .classic)

  /// The names of the dead queues.
  public static let deadQueues = workQueues.map { Topology.Queues.dead($0) }

  /// The queues that a process consumes, or will.
  static let workQueues = Topology.Queues.work + Topology.Queues.accounts
}

extension BindingDeclaration {
  fileprivate init(_ binding: Topology.Binding) {
    self.init(exchange: binding.exchange, queue: binding.queue, routingKey: binding.routingKey)
  }
}
