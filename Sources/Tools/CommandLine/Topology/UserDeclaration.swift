import CountersignEncoding

/// Passwords are set on the broker, never here.
struct UserDeclaration: Sendable, Hashable {
  struct TopicRight: Sendable, Hashable {
    let exchange: String
    /// Regular expression over routing keys.
    let write: String
    /// Regular expression over binding keys.
    let read: String
  }

  let name: String
  /// Tags for the management API: `policymaker` for policies, `monitoring` for queues and nodes.
  var tags: [String] = []
  /// Regular expressions over the names of queues and exchanges. `^$` matches no resource.
  let configure: String
  let write: String
  let read: String
  var topics: [TopicRight] = []
  /// By RabbitMQ's names. Empty for no limits.
  var limits: [String: Int64] = [:]

  /// Room for 500 processes of one user, as a client holds two connections. A connection takes about 100 KB of the
  /// broker's memory, so a client that never closes its connections takes 100 MB at most.
  static let servicesLimits: [String: Int64] = ["max-connections": 1000, "max-channels": 2000]

  var permissions: BrokerObject {
    BrokerObject(
      kind: .permissions,
      members: ["user": .text(name), "configure": .text(configure), "write": .text(write), "read": .text(read)])
  }

  var topicPermissions: [BrokerObject] {
    topics.map { right in
      BrokerObject(
        kind: .topicPermissions,
        members: [
          "user": .text(name), "exchange": .text(right.exchange), "write": .text(right.write),
          "read": .text(right.read),
        ])
    }
  }

  var rights: [BrokerObject] { [permissions] + topicPermissions }

  var limitWrites: [ManagementWrite] {
    limits.sorted { $0.key < $1.key }.map {
      ManagementWrite(["user-limits", name, $0.key], ["value": .integer($0.value)])
    }
  }
}

enum VirtualHostLimits {
  /// Maximum number of queues, of the topology and of services together. RabbitMQ counts queues by virtual host and not
  /// by user, so a service that declares them all keeps others from declaring queues, but not from direct reply-to,
  /// which needs none. Neither the coordinator nor a worker declares queues.
  static let maxQueues = 1000
}
