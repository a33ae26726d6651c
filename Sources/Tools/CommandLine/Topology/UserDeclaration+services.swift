import CountersignMessages

/// Rights of the services that use Countersign, each with a user of its own or one of the declared ones.
enum ServiceRights {
  /// First part of the routing keys of delivery reports.
  static let deliveries = "sms.delivery"

  static let deliveryBindings = NamePattern.names([], or: [NamePattern.escaped(deliveries) + "\\.([a-z]+|[*#])"])

  /// Pattern for queues named by the broker, whose names cannot be guessed and do not depend on the user.
  static let brokerNamedQueues = "amq\\.gen-.*"

  /// Patterns for the queues that a user may own.
  static func ownQueues(of user: String) -> [String] {
    [brokerNamedQueues, NamePattern.escaped(Topology.Queues.ownPrefix(of: user)) + ".*"]
  }
}

extension UserDeclaration {
  /// User of a service that sends commands. It may bind and read its queue of events, if the operator declares one.
  static func service(_ name: String) -> UserDeclaration {
    let own = ServiceRights.ownQueues(of: name)
    return UserDeclaration(
      name: name, configure: NamePattern.names([], or: own),
      write: NamePattern.names([Topology.Exchanges.commands, Topology.Queues.events(of: name)], or: own),
      read: NamePattern.names([Topology.Exchanges.events, Topology.Queues.events(of: name)], or: own),
      limits: servicesLimits)
  }

  /// User of a service that sends commands and jobs. Jobs bypass the coordinator's limits: it can send any text to any
  /// number that the sms-worker admits.
  ///
  /// Delivery reports may come days later, so this user may bind a queue to them. No other service may: a full queue
  /// that refuses messages makes the broker refuse them to the worker, too.
  static func sender(_ name: String) -> UserDeclaration {
    let own = ServiceRights.ownQueues(of: name)
    return UserDeclaration(
      name: name, configure: NamePattern.names([], or: own),
      write: NamePattern.names(
        [Topology.Exchanges.commands, Topology.Exchanges.jobs, Topology.Queues.events(of: name)], or: own),
      read: NamePattern.names(
        [Topology.Exchanges.events, Topology.Exchanges.results, Topology.Queues.events(of: name)], or: own),
      topics: [
        TopicRight(
          exchange: Topology.Exchanges.results, write: NamePattern.nothing, read: ServiceRights.deliveryBindings)
      ], limits: servicesLimits)
  }

  /// User of the gateway: sends the commands of HTTP clients, and receives only the event that keys were published.
  static let gateway: UserDeclaration = {
    let own = ServiceRights.ownQueues(of: Topology.Users.gateway)
    return UserDeclaration(
      name: Topology.Users.gateway, configure: NamePattern.names([], or: own),
      write: NamePattern.names([Topology.Exchanges.commands], or: own),
      read: NamePattern.names([Topology.Exchanges.events], or: own),
      topics: [
        TopicRight(
          exchange: Topology.Exchanges.events, write: NamePattern.nothing, read: NamePattern.names(["keys.published"]))
      ], limits: servicesLimits)
  }()
}
