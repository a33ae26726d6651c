import CountersignMessages

extension UserDeclaration {
  /// Users of the executables and of services, each with the least rights it needs, and the operator, the only one that
  /// may declare and configure.
  ///
  /// Routing keys of the default exchange cannot be restricted: a user that may reply may also write to any queue by
  /// name. Secrets in messages are bound to their message for this reason.
  static let countersign = [
    coordinator, accounts, gateway, webhookWorker, service(Topology.Users.service), sender(Topology.Users.sender),
    operatorUser,
    worker(
      Topology.Users.smsWorker, queues: [Topology.Queues.smsDispatch, Topology.Queues.smsBulk],
      alsoReports: [ServiceRights.deliveries]),
    worker(
      Topology.Users.pushWorker, queues: [Topology.Queues.pushVerify, Topology.Queues.recaptchaAssess]),
    worker(Topology.Users.mailWorker, queues: [Topology.Queues.mailRelay, Topology.Queues.mailForget]),
    // The revocation of the refresh token that a code is exchanged for is the next stage of the same job.
    worker(
      Topology.Users.revocationWorker, queues: [Topology.Queues.appleRevoke], alsoWrites: [Topology.Exchanges.jobs]),
  ].sorted { $0.name < $1.name }

  private static let coordinator = UserDeclaration(
    name: Topology.Users.coordinator, configure: NamePattern.nothing,
    write: NamePattern.names(
      [Topology.Exchanges.jobs, Topology.Exchanges.events, Topology.Exchanges.dead, NamePattern.defaultExchange]),
    read: NamePattern.names([Topology.Queues.commands, Topology.Queues.commandsLock, Topology.Queues.results]),
    topics: [events(of: ["verification", "app", "operation", "conversion"])])

  private static let accounts = UserDeclaration(
    name: Topology.Users.accounts, configure: NamePattern.nothing,
    write: NamePattern.names(
      [
        Topology.Exchanges.commands, Topology.Exchanges.jobs, Topology.Exchanges.events, Topology.Exchanges.dead,
        NamePattern.defaultExchange,
      ]),
    read: NamePattern.names(Topology.Queues.accounts + [Topology.Queues.accountsCommandsLock]),
    topics: [events(of: ["account", "keys"])])

  /// Writes replies and dead letters. Binds its queue of events, which takes the right to write the one and read the other.
  private static let webhookWorker = UserDeclaration(
    name: Topology.Users.webhookWorker, configure: NamePattern.nothing,
    write: NamePattern.names([Topology.Exchanges.dead, NamePattern.defaultExchange, Topology.Queues.webhookEvents]),
    read: NamePattern.names(
      Topology.Queues.webhooks + [Topology.Queues.webhookCommandsLock, Topology.Exchanges.events]))

  private static func events(of families: [String]) -> TopicRight {
    TopicRight(
      exchange: Topology.Exchanges.events,
      write: NamePattern.names([], or: families.map { NamePattern.escaped($0) + "\\.[^.]+" }), read: NamePattern.nothing
    )
  }

  private static let operatorUser = UserDeclaration(
    name: Topology.Users.operator, tags: ["monitoring", "policymaker"], configure: everything,
    write: NamePattern.names([NamePattern.defaultExchange], or: everythingAlternatives),
    read: everything)

  private static func worker(
    _ name: String, queues: [String], alsoReports reports: [String] = [], alsoWrites exchanges: [String] = []
  ) -> UserDeclaration {
    UserDeclaration(
      name: name, configure: NamePattern.nothing,
      write: NamePattern.names(
        [Topology.Exchanges.results, Topology.Exchanges.dead, NamePattern.defaultExchange] + exchanges
          + queues.map(Topology.Exchanges.retry)),
      read: NamePattern.names(queues),
      topics: [
        TopicRight(
          exchange: Topology.Exchanges.results, write: NamePattern.names([], or: (queues + reports).map(resultKeys)),
          read: ".*")
      ])
  }

  private static func resultKeys(_ queue: String) -> String {
    NamePattern.escaped(queue) + "\\.[^.]+"
  }

  private static let everythingAlternatives =
    ["countersign\\..*"]
    + TopologyDeclaration.countersign.all(.queues).map(\.name).filter { !$0.hasPrefix("countersign.") }
    .map(NamePattern.escaped)

  private static let everything = NamePattern.names([], or: everythingAlternatives)
}
