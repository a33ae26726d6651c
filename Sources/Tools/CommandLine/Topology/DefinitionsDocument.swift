import FoundationEssentials

/// The topology and its users as a document that RabbitMQ imports (`rabbitmqctl import_definitions`).
///
/// `countersign topology export` prints it, and `Config/rabbitmq/definitions.json` is that output.
///
/// The users have an empty password hash, which admits no password: set each one's with `rabbitmqctl change_password`.
public struct DefinitionsDocument: Sendable {
  public let topology: TopologyDeclaration
  public let users: [UserDeclaration]
  /// Virtual host of all objects.
  public let virtualHost: String

  public init(
    topology: TopologyDeclaration = .countersign, users: [UserDeclaration] = UserDeclaration.countersign,
    virtualHost: String = "/"
  ) {
    self.topology = topology
    self.users = users
    self.virtualHost = virtualHost
  }

  /// The document as JSON, keys sorted, with a line feed at its end.
  public func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(contents)) + [UInt8(ascii: "\n")]
  }

  private var contents: Contents {
    Contents(
      vhosts: [.init(name: virtualHost)],
      parameters: [.init(vhost: virtualHost, value: ["max-queues": VirtualHostLimits.maxQueues])],
      users: users.map { .init(name: $0.name, tags: $0.tags, limits: $0.limits?.values ?? [:]) },
      permissions: users.map {
        .init(user: $0.name, vhost: virtualHost, configure: $0.configure, write: $0.write, read: $0.read)
      },
      topicPermissions: users.flatMap { user in
        user.topics.map {
          .init(user: user.name, vhost: virtualHost, exchange: $0.exchange, write: $0.write, read: $0.read)
        }
      },
      exchanges: topology.exchanges.map { .init($0, virtualHost: virtualHost) },
      queues: topology.queues.map { .init($0, virtualHost: virtualHost) },
      bindings: topology.bindings.map { .init($0, virtualHost: virtualHost) },
      policies: topology.policies.map { .init($0, virtualHost: virtualHost) })
  }
}
