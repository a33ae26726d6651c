/// A user of the broker and what it may do. Passwords are set where the broker runs, never here.
public struct UserDeclaration: Sendable, Hashable {
  /// Which keys a user may write on a topic exchange.
  public struct TopicRight: Sendable, Hashable {
    public let exchange: String
    /// A regular expression over routing keys.
    public let write: String
    /// A regular expression over binding keys.
    public let read: String
  }

  public let name: String
  /// Rights on the management API: `policymaker` for policies, `monitoring` to see queues and nodes.
  public let tags: [String]
  /// Regular expressions over the names of queues and exchanges. An empty name, as `^$` matches, is no resource.
  public let configure: String
  public let write: String
  public let read: String
  public let topics: [TopicRight]

  public init(
    name: String, tags: [String] = [], configure: String, write: String, read: String, topics: [TopicRight] = []
  ) {
    self.name = name
    self.tags = tags
    self.configure = configure
    self.write = write
    self.read = read
    self.topics = topics
  }
}
