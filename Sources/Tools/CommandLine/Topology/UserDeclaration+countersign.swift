internal import CountersignMessages

extension UserDeclaration {
  /// One user for each executable, with the least it needs, those of the services that use Countersign, and the operator,
  /// the only one who may declare and configure.
  ///
  /// The default exchange (`amq.default`) is where replies are sent: its routing keys cannot be restricted, so who may
  /// reply may also write to any queue by name. Secrets in messages are bound to their message for this reason.
  public static let countersign = [
    coordinator, accounts, gateway, service(Topology.Users.service), sender(Topology.Users.sender),
    operatorUser,
    worker(
      Topology.Users.smsWorker, queues: [Topology.Queues.smsDispatch, Topology.Queues.smsBulk],
      alsoReports: [ServiceRights.deliveries]),
    worker(
      Topology.Users.pushWorker, queues: [Topology.Queues.pushVerify, Topology.Queues.recaptchaAssess]),
    worker(Topology.Users.mailWorker, queues: [Topology.Queues.mailRelay]),
    // The refresh token that a code is exchanged for is the next stage of the same job, so it writes jobs too.
    worker(
      Topology.Users.revocationWorker, queues: [Topology.Queues.appleRevoke], alsoWrites: [Topology.Exchanges.jobs]),
  ].sorted { $0.name < $1.name }

  private static let coordinator = UserDeclaration(
    name: Topology.Users.coordinator, configure: NamePattern.nothing,
    write: NamePattern.names(
      [Topology.Exchanges.jobs, Topology.Exchanges.events, Topology.Exchanges.dead, NamePattern.defaultExchange]
        + RetryStep.allCases.map(\.exchange)),
    read: NamePattern.names([Topology.Queues.commands, Topology.Queues.commandsLock, Topology.Queues.results]),
    topics: [events(of: ["verification", "app", "operation", "conversion"])])

  /// It sends commands, as services do, and mail; it answers commands of its own and says what happened to accounts and keys.
  private static let accounts = UserDeclaration(
    name: Topology.Users.accounts, configure: NamePattern.nothing,
    write: NamePattern.names(
      [
        Topology.Exchanges.commands, Topology.Exchanges.jobs, Topology.Exchanges.events, Topology.Exchanges.dead,
        NamePattern.defaultExchange,
      ] + RetryStep.allCases.map(\.exchange)),
    read: NamePattern.names(Topology.Queues.accounts),
    topics: [events(of: ["account", "keys"])])

  /// The right to write events whose name begins with one of the words, and no others.
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

  /// A worker takes the jobs of its queues and reports what became of them, and of no others.
  private static func worker(
    _ name: String, queues: [String], alsoReports reports: [String] = [], alsoWrites exchanges: [String] = []
  ) -> UserDeclaration {
    UserDeclaration(
      name: name, configure: NamePattern.nothing,
      write: NamePattern.names(
        [Topology.Exchanges.results, Topology.Exchanges.dead, NamePattern.defaultExchange] + exchanges
          + RetryStep.allCases.map(\.exchange)),
      read: NamePattern.names(queues),
      topics: [
        TopicRight(
          exchange: Topology.Exchanges.results, write: NamePattern.names([], or: (queues + reports).map(resultKeys)),
          read: ".*")
      ])
  }

  /// Matches the routing keys of the results of a queue's jobs.
  private static func resultKeys(_ queue: String) -> String {
    NamePattern.escaped(queue) + "\\.[^.]+"
  }

  private static let everythingAlternatives =
    ["countersign\\..*"]
    + TopologyDeclaration.countersign.queues.map(\.name).filter { !$0.hasPrefix("countersign.") }
    .map(NamePattern.escaped)

  private static let everything = NamePattern.names([], or: everythingAlternatives)
}
