/// User of the broker and its rights. Passwords are set on the broker, never here.
public struct UserDeclaration: Sendable, Hashable {
  /// Right to routing keys of a topic exchange.
  public struct TopicRight: Sendable, Hashable {
    public let exchange: String
    /// Regular expression over routing keys.
    public let write: String
    /// Regular expression over binding keys.
    public let read: String

    public init(exchange: String, write: String, read: String) {
      self.exchange = exchange
      self.write = write
      self.read = read
    }
  }

  public let name: String
  /// Tags for the management API: `policymaker` for policies, `monitoring` for queues and nodes.
  public let tags: [String]
  /// Regular expressions over the names of queues and exchanges. `^$` matches no resource.
  public let configure: String
  public let write: String
  public let read: String
  public let topics: [TopicRight]
  /// Limits of the user. `nil` means no limits.
  public let limits: UserLimits?

  public init(
    name: String, tags: [String] = [], configure: String, write: String, read: String, topics: [TopicRight] = [],
    limits: UserLimits? = nil
  ) {
    self.name = name
    self.tags = tags
    self.configure = configure
    self.write = write
    self.read = read
    self.topics = topics
    self.limits = limits
  }
}

/// Maximum number of connections and channels that a user may have open at once.
public struct UserLimits: Sendable, Hashable {
  public let maxConnections: Int
  public let maxChannels: Int

  /// Limits by RabbitMQ's names.
  public var values: [String: Int] { ["max-connections": maxConnections, "max-channels": maxChannels] }

  /// Room for 500 processes of one user, as a client holds two connections. A connection takes about 100 KB of the
  /// broker's memory, so a client that never closes its connections takes 100 MB at most.
  public static let services = UserLimits(maxConnections: 1000, maxChannels: 2000)
}

/// Limits of the virtual host.
public enum VirtualHostLimits {
  /// Maximum number of queues, of the topology and of services together. RabbitMQ counts queues by virtual host and not
  /// by user, so a service that declares them all keeps others from declaring queues, but not from direct reply-to,
  /// which needs none. Neither the coordinator nor a worker declares queues.
  public static let maxQueues = 1000
}
