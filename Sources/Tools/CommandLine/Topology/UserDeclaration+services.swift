internal import CountersignMessages

/// Rights of the services that use Countersign. Each has a user of its own, or shares one of the declared ones.
enum ServiceRights {
  /// Reports of providers of messages: the first part of the routing keys.
  static let deliveries = "sms.delivery"

  /// Matches the binding keys for those reports, and no others.
  static let deliveryBindings = NamePattern.names([], or: [NamePattern.escaped(deliveries) + "\\.([a-z]+|[*#])"])

  /// Matches the queues that the broker names. Their names cannot be guessed, and cannot be told apart by user.
  static let brokerNamedQueues = "amq\\.gen-.*"

  /// Matches the queues that a user may own.
  static func ownQueues(of user: String) -> [String] {
    [brokerNamedQueues, NamePattern.escaped(Topology.Queues.ownPrefix(of: user)) + ".*"]
  }
}

extension UserDeclaration {
  /// The user of a service that sends commands: the declared one, or a further one with its rights.
  public static func service(_ name: String) -> UserDeclaration {
    let own = ServiceRights.ownQueues(of: name)
    return UserDeclaration(
      name: name, configure: NamePattern.names([], or: own),
      write: NamePattern.names([Topology.Exchanges.commands], or: own),
      read: NamePattern.names([Topology.Exchanges.events], or: own), limits: .services)
  }

  /// The user of a service that sends commands and jobs. It can have any text sent to any number that the sms-worker's own
  /// rules admit, past the coordinator's limits.
  ///
  /// A job's result comes by reply; what its provider reports days later does not, so it may bind a queue to those reports. One that
  /// refuses messages has the broker refuse them to the worker, too: nobody else may bind to results.
  public static func sender(_ name: String) -> UserDeclaration {
    let own = ServiceRights.ownQueues(of: name)
    return UserDeclaration(
      name: name, configure: NamePattern.names([], or: own),
      write: NamePattern.names([Topology.Exchanges.commands, Topology.Exchanges.jobs], or: own),
      read: NamePattern.names([Topology.Exchanges.events, Topology.Exchanges.results], or: own),
      topics: [
        TopicRight(
          exchange: Topology.Exchanges.results, write: NamePattern.nothing, read: ServiceRights.deliveryBindings)
      ], limits: .services)
  }

  /// It sends the commands of HTTP clients, and of events hears only that keys were published.
  static let gateway: UserDeclaration = {
    let own = ServiceRights.ownQueues(of: Topology.Users.gateway)
    return UserDeclaration(
      name: Topology.Users.gateway, configure: NamePattern.names([], or: own),
      write: NamePattern.names([Topology.Exchanges.commands], or: own),
      read: NamePattern.names([Topology.Exchanges.events], or: own),
      topics: [
        TopicRight(
          exchange: Topology.Exchanges.events, write: NamePattern.nothing, read: NamePattern.names(["keys.published"]))
      ], limits: .services)
  }()
}
