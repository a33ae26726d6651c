/// A user of the broker and what it may do. Passwords are set where the broker runs, never here.
public struct UserDeclaration: Sendable, Hashable {
  /// Which keys a user may write on a topic exchange.
  public struct TopicRight: Sendable, Hashable {
    public let exchange: String
    /// A regular expression over routing keys.
    public let write: String
    /// A regular expression over binding keys.
    public let read: String

    public init(exchange: String, write: String, read: String) {
      self.exchange = exchange
      self.write = write
      self.read = read
    }
  }

  public let name: String
  /// Rights on the management API: `policymaker` for policies, `monitoring` to see queues and nodes.
  public let tags: [String]
  /// Regular expressions over the names of queues and exchanges. An empty name, as `^$` matches, is no resource.
  public let configure: String
  public let write: String
  public let read: String
  public let topics: [TopicRight]
  /// The most connections and channels of the user; none are counted if nil.
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

/// The most that a user may have open on the broker at once.
public struct UserLimits: Sendable, Hashable {
  public let maxConnections: Int
  public let maxChannels: Int

  /// The limits by RabbitMQ's names.
  public var values: [String: Int] { ["max-connections": maxConnections, "max-channels": maxChannels] }

  /// A client holds two connections, so this is room for 500 processes of one user. A connection takes about 100 KB of the
  /// broker's memory: a client that forgets to close its own takes 100 MB and not all of it.
  public static let services = UserLimits(maxConnections: 1000, maxChannels: 2000)
}
