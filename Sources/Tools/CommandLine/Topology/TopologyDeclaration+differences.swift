extension TopologyDeclaration {
  /// Differences of the broker's state, in the order in which to fix them: policies before their queues, so that no
  /// queue ever works without its policy, then exchanges, queues and bindings.
  func differences(from state: TopologyState) -> [TopologyDifference] {
    policies.flatMap { differences(of: $0, in: state) }
      + exchanges.flatMap { differences(of: $0, in: state) }
      + queues.flatMap { differences(of: $0, in: state) }
      + bindings.flatMap { differences(of: $0, in: state) }
      + undeclaredBindings(in: state) + refusingQueues(in: state)
  }

  private func differences(of policy: PolicyDeclaration, in state: TopologyState) -> [TopologyDifference] {
    guard let found = state.policies.first(where: { $0.name == policy.name }) else {
      return [TopologyDifference("policy \(policy.name) is missing", remedy: .setPolicy(policy))]
    }
    var wrong: [String] = []
    if found.pattern != policy.pattern { wrong.append("pattern is \(found.pattern) instead of \(policy.pattern)") }
    if found.priority != policy.priority {
      wrong.append("priority is \(found.priority) instead of \(policy.priority)")
    }
    let targets = policy.target == .queues ? ["queues", "quorum_queues"] : [policy.target.rawValue]
    if !targets.contains(found.applyTo) { wrong.append("applies to \(found.applyTo), not \(policy.target.rawValue)") }
    for key in Set(found.definition.keys).union(policy.definition.keys).sorted()
    where found.definition[key] != policy.definition[key] {
      let (actual, wanted) = (found.definition[key], policy.definition[key])
      wrong.append("\(key) is \(actual?.description ?? "not set") instead of \(wanted?.description ?? "not set")")
    }
    if wrong.isEmpty { return [] }
    return [
      TopologyDifference("policy \(policy.name): \(wrong.joined(separator: ", "))", remedy: .setPolicy(policy))
    ]
  }

  private func differences(of exchange: TopologyExchange, in state: TopologyState) -> [TopologyDifference] {
    guard let found = state.exchanges.first(where: { $0.name == exchange.name }) else {
      return [TopologyDifference("exchange \(exchange.name) is missing", remedy: .declareExchange(exchange))]
    }
    if found.type == exchange.kind.rawValue && found.durable { return [] }
    return [
      TopologyDifference(
        "exchange \(exchange.name) is \(found.durable ? "" : "transient ")\(found.type) instead of durable \(exchange.kind.rawValue)",
        remedy: .byHand("delete it while nothing publishes (rabbitmqctl eval or the management page), then apply again")
      )
    ]
  }

  private func differences(of queue: TopologyQueue, in state: TopologyState) -> [TopologyDifference] {
    guard let found = state.queues.first(where: { $0.name == queue.name }) else {
      return [TopologyDifference("queue \(queue.name) is missing", remedy: .declareQueue(queue))]
    }
    if found.type != queue.kind.rawValue || !found.durable {
      return [
        TopologyDifference(
          "queue \(queue.name) is a \(found.durable ? "" : "transient ")\(found.type) queue instead of a \(queue.kind.rawValue) queue",
          remedy: .byHand("the type cannot be changed: empty the queue, delete it, then apply again"))
      ]
    }
    let fixed = found.arguments.keys.filter { $0 != "x-queue-type" }
    if !fixed.isEmpty {
      return [
        TopologyDifference(
          "queue \(queue.name) was declared with arguments that no policy can change: \(fixed.joined(separator: ", "))",
          remedy: .byHand("empty the queue, delete it, then apply again"))
      ]
    }
    return policyDifferences(of: queue, found: found, in: state)
  }

  /// Difference of a queue whose declared policy is overridden by another one with a higher priority.
  private func policyDifferences(
    of queue: TopologyQueue, found: TopologyState.Queue, in state: TopologyState
  ) -> [TopologyDifference] {
    let own = policies.map(\.name)
    guard let effective = found.policy, !effective.isEmpty, !own.contains(effective) else { return [] }
    return [
      TopologyDifference(
        "queue \(queue.name) is under the policy \(effective) instead of its own",
        remedy: .byHand("if that is not intended: rabbitmqctl clear_policy \(effective)"))
    ]
  }

  private func differences(of binding: TopologyBinding, in state: TopologyState) -> [TopologyDifference] {
    let found = state.bindings.contains {
      $0.source == binding.exchange && $0.destination == binding.queue && $0.destinationType == "queue"
        && $0.routingKey == binding.routingKey
    }
    if found { return [] }
    return [
      TopologyDifference(
        "queue \(binding.queue) is not bound to \(binding.exchange) under \"\(binding.routingKey)\"",
        remedy: .bind(binding))
    ]
  }

  /// Undeclared bindings of declared queues, which deliver messages of another kind. One may be intended by its author.
  private func undeclaredBindings(in state: TopologyState) -> [TopologyDifference] {
    let own = Set(queues.map(\.name))
    return state.bindings.filter {
      !$0.source.isEmpty && $0.destinationType == "queue" && own.contains($0.destination)
        && !bindings.contains(
          TopologyBinding(exchange: $0.source, queue: $0.destination, routingKey: $0.routingKey))
    }.map {
      TopologyDifference(
        "queue \($0.destination) is also bound to \($0.source) under \"\($0.routingKey)\"",
        remedy: .byHand("if that is not intended, delete the binding on the management page"))
    }
  }

  /// Queues of services that refuse messages when full. The broker then refuses the message to its publisher, although
  /// all other queues have it: delivery reports would be published over and over.
  private func refusingQueues(in state: TopologyState) -> [TopologyDifference] {
    let own = Set(queues.map(\.name))
    return state.queues.filter { queue in
      !own.contains(queue.name) && queue.arguments.overflow?.hasPrefix("reject-publish") == true
        && state.bindings.contains { $0.destination == queue.name && $0.source.hasPrefix("countersign.") }
    }.map {
      TopologyDifference(
        "queue \($0.name) refuses messages when it is full, which makes the broker refuse their publishers",
        remedy: .byHand("let its owner declare it without x-overflow, or: rabbitmqctl delete_queue \($0.name)"))
    }
  }
}
