internal import Messages

extension UserDeclaration {
  /// One user for each executable, with the least it needs, one for the services that use Countersign, and the operator,
  /// the only one who may declare and configure.
  ///
  /// The default exchange (`amq.default`) is where replies are sent: its routing keys cannot be restricted, so who may
  /// reply may also write to any queue by name. Secrets in messages are bound to their message for this reason.
  public static let countersign = [
    UserDeclaration(
      name: "coordinator", configure: NamePattern.nothing,
      write: NamePattern.names(
        [
          Topology.Exchanges.jobs, Topology.Exchanges.events, Topology.Exchanges.dead, defaultExchange,
        ] + RetryStep.allCases.map(\.exchange)),
      read: NamePattern.names([Topology.Queues.commands, Topology.Queues.results])),
    UserDeclaration(
      name: "operator", tags: ["monitoring", "policymaker"], configure: everything,
      write: NamePattern.names([defaultExchange], or: everythingAlternatives),
      read: everything),
    UserDeclaration(
      name: "service", configure: NamePattern.names([], or: ownQueues),
      write: NamePattern.names([Topology.Exchanges.commands, Topology.Exchanges.jobs], or: ownQueues),
      read: NamePattern.names([Topology.Exchanges.events, Topology.Exchanges.results], or: ownQueues),
      // A job's result comes by reply; what its provider reports days later does not.
      topics: [TopicRight(exchange: Topology.Exchanges.results, write: NamePattern.nothing, read: deliveryBindings)]),
    worker(
      "sms-worker", queues: [Topology.Queues.smsDispatch], alsoReads: [Topology.Queues.smsBulk],
      alsoReports: [deliveries]),
    worker("push-worker", queues: [Topology.Queues.pushVerify, Topology.Queues.recaptchaAssess]),
    worker("mail-worker", queues: [Topology.Queues.mailRelay]),
    // The refresh token that a code is exchanged for is the next stage of the same job, so it writes jobs too.
    worker("revocation-worker", queues: [Topology.Queues.appleRevoke], alsoWrites: [Topology.Exchanges.jobs]),
  ]

  /// A worker takes the jobs of its queues and reports what became of them, and of no others.
  private static func worker(
    _ name: String, queues: [String], alsoReads others: [String] = [], alsoReports reports: [String] = [],
    alsoWrites exchanges: [String] = []
  ) -> UserDeclaration {
    UserDeclaration(
      name: name, configure: NamePattern.nothing,
      write: NamePattern.names(
        [Topology.Exchanges.results, Topology.Exchanges.dead, defaultExchange] + exchanges
          + RetryStep.allCases.map(\.exchange)),
      read: NamePattern.names(queues + others),
      topics: [
        TopicRight(
          exchange: Topology.Exchanges.results, write: NamePattern.names([], or: (queues + reports).map(resultKeys)),
          read: ".*")
      ])
  }

  /// Matches the routing keys of the results of a job type.
  private static func resultKeys(_ queue: String) -> String {
    NamePattern.escaped(queue) + "\\.[^.]+"
  }

  /// What providers report of messages: the first part of the routing keys.
  private static let deliveries = "sms.delivery"

  /// Matches the binding keys for those reports, and no others.
  private static let deliveryBindings = NamePattern.names(
    [], or: [NamePattern.escaped(deliveries) + "\\.([a-z]+|[*#])"])

  /// The default exchange's name in permissions.
  private static let defaultExchange = "amq.default"

  /// Queues of the services' own: named by the broker, or under a prefix reserved for them.
  private static let ownQueues = ["amq\\.gen-.*", "countersign\\.reply\\..*"]

  private static let everythingAlternatives =
    ["countersign\\..*"]
    + TopologyDeclaration.countersign.queues.map(\.name).filter { !$0.hasPrefix("countersign.") }
    .map(NamePattern.escaped)

  private static let everything = NamePattern.names([], or: everythingAlternatives)
}
