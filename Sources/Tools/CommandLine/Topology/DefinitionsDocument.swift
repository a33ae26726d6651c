import CountersignEncoding

/// The topology and its users as a document that RabbitMQ imports (`rabbitmqctl import_definitions`).
///
/// `countersign topology export` prints it, and `Config/rabbitmq/definitions.json` is that output.
///
/// The users have an empty password hash, which admits no password: set each one's with `rabbitmqctl change_password`.
enum DefinitionsDocument {
  private static let virtualHost: JSONValue = "/"

  static var contents: JSONValue {
    let (topology, users) = (TopologyDeclaration.countersign, UserDeclaration.countersign)
    return [
      "vhosts": [["name": virtualHost]],
      "parameters": [hostLimits],
      "users": .array(users.map(user)),
      "permissions": objects(users.map(\.permissions)),
      "topic_permissions": objects(users.flatMap(\.topicPermissions)),
      "exchanges": objects(topology.all(.exchanges)),
      "queues": objects(topology.all(.queues)),
      "bindings": objects(topology.all(.bindings)),
      "policies": objects(topology.all(.policies)),
    ]
  }

  /// Limits of the virtual host, a parameter to RabbitMQ.
  private static let hostLimits: JSONValue = [
    "component": "vhost-limits", "name": "limits", "vhost": virtualHost,
    "value": ["max-queues": .integer(Int64(VirtualHostLimits.maxQueues))],
  ]

  private static func user(_ user: UserDeclaration) -> JSONValue {
    [
      "name": .text(user.name), "password_hash": "", "hashing_algorithm": "rabbit_password_hashing_sha256",
      "tags": .array(user.tags.map(JSONValue.text)), "limits": .object(user.limits.mapValues(JSONValue.integer)),
    ]
  }

  private static func objects(_ objects: [BrokerObject]) -> JSONValue {
    .array(objects.map { .object($0.members.merging(["vhost": virtualHost]) { $1 }) })
  }
}
