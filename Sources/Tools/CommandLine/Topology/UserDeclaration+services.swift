import CountersignMessages

enum ServiceRights {
  static let deliveries = "sms.delivery"

  static let deliveryBindings = NamePattern.names([], or: [NamePattern.escaped(deliveries) + "\\.([a-z]+|[*#])"])

  /// Pattern for queues named by the broker, whose names cannot be guessed and do not depend on the user.
  static let brokerNamedQueues = "amq\\.gen-.*"

  static func ownQueues(of user: String) -> [String] {
    [brokerNamedQueues, NamePattern.escaped(Topology.Queues.ownPrefix(of: user)) + ".*"]
  }
}

extension UserDeclaration {
  /// It may bind and read its queue of events, if the operator declares one.
  static func service(_ name: String) -> UserDeclaration {
    client(name, writes: [Topology.Exchanges.commands], reads: [Topology.Exchanges.events])
  }

  /// User of a service that sends commands and jobs. Jobs bypass the coordinator's limits: it can send any text to any
  /// number that the sms-worker admits.
  ///
  /// Delivery reports may come days later, so this user may bind a queue to them. No other service may: a full queue
  /// that refuses messages makes the broker refuse them to the worker, too.
  static func sender(_ name: String) -> UserDeclaration {
    client(
      name, writes: [Topology.Exchanges.commands, Topology.Exchanges.jobs],
      reads: [Topology.Exchanges.events, Topology.Exchanges.results],
      binds: TopicRight(
        exchange: Topology.Exchanges.results, write: NamePattern.nothing, read: ServiceRights.deliveryBindings))
  }

  /// User of the gateway: sends the commands of HTTP clients, and receives only the event that keys were published.
  static let gateway = client(
    Topology.Users.gateway, writes: [Topology.Exchanges.commands], reads: [Topology.Exchanges.events],
    binds: TopicRight(
      exchange: Topology.Exchanges.events, write: NamePattern.nothing, read: NamePattern.names(["keys.published"])),
    keepsEvents: false)

  /// With `keepsEvents`, it may bind and read a queue of events that the operator declares.
  private static func client(
    _ name: String, writes: [String], reads: [String], binds topic: TopicRight? = nil, keepsEvents: Bool = true
  ) -> UserDeclaration {
    let own = ServiceRights.ownQueues(of: name)
    let events = keepsEvents ? [Topology.Queues.events(of: name)] : []
    return UserDeclaration(
      name: name, configure: NamePattern.names([], or: own), write: NamePattern.names(writes + events, or: own),
      read: NamePattern.names(reads + events, or: own), topics: topic.map { [$0] } ?? [], limits: servicesLimits)
  }
}
