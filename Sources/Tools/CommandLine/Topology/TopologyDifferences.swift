import CountersignEncoding
import CountersignMessages

struct TopologyDifferences {
  let declared = TopologyDeclaration.countersign
  let found: [BrokerObject]

  /// Differences in the order of the declaration, and what is there without being declared.
  func differences() -> [TopologyDifference] {
    declared.compactMap { $0.difference(from: found) } + overriddenQueues() + undeclaredBindings() + refusingQueues()
  }

  /// Bindings of which the topology has none, so that nothing is stored where their process does not run.
  private static let madeByProcesses = [
    BrokerObject.binding(of: Topology.Queues.webhookEvents, to: Topology.Exchanges.events, under: "#")
  ]

  private func overriddenQueues() -> [TopologyDifference] {
    let own = Set(declared.all(.policies).map(\.name)).union([""])
    return ownQueues.filter { !own.contains($0["policy"]) }.map {
      TopologyDifference(
        "queue \($0.name) is under the policy \($0["policy"]) instead of its own",
        remedy: .byHand("if that is not intended: rabbitmqctl clear_policy \($0["policy"])"))
    }
  }

  /// Undeclared bindings of declared queues, which deliver messages of another kind. One may be intended by its author.
  private func undeclaredBindings() -> [TopologyDifference] {
    let own = Set(ownQueues.map(\.name))
    return found.all(.bindings).filter {
      !$0["source"].isEmpty && $0["destination_type"] == "queue" && own.contains($0["destination"])
        && !(declared + Self.madeByProcesses).contains(where: $0.isSame)
    }.map {
      TopologyDifference(
        "queue \($0["destination"]) is also bound to \($0["source"]) under \"\($0["routing_key"])\"",
        remedy: .byHand("if that is not intended, delete the binding on the management page"))
    }
  }

  /// Queues of services that refuse messages when full. The broker then refuses the message to its publisher, although
  /// all other queues have it: delivery reports would be published over and over.
  private func refusingQueues() -> [TopologyDifference] {
    let own = Set(ownQueues.map(\.name))
    let bound = Set(found.all(.bindings).filter { $0["source"].hasPrefix("countersign.") }.map { $0["destination"] })
    return found.all(.queues).filter {
      !own.contains($0.name) && bound.contains($0.name)
        && $0.arguments["x-overflow"]?.text?.hasPrefix("reject-publish") == true
    }.map {
      TopologyDifference(
        "queue \($0.name) refuses messages when it is full, which makes the broker refuse their publishers",
        remedy: .byHand("let its owner declare it without x-overflow, or: rabbitmqctl delete_queue \($0.name)"))
    }
  }

  private var ownQueues: [BrokerObject] {
    let names = Set(declared.all(.queues).map(\.name))
    return found.all(.queues).filter { names.contains($0.name) }
  }
}
