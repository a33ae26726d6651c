/// Users of the broker and their rights, from the management API, which shows them to administrators.
struct UserState: Sendable {
  struct User: Sendable, Decodable {
    let name: String
    let tags: [String]
    let limits: [String: Int]

    init(name: String, tags: [String] = [], limits: [String: Int] = [:]) {
      self.name = name
      self.tags = tags
      self.limits = limits
    }

    enum CodingKeys: String, CodingKey {
      case name, tags, limits
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      // A list since 3.9; before, and in definitions of that time, words with commas.
      if let list = try? container.decode([String].self, forKey: .tags) {
        tags = list
      } else {
        tags = try container.decode(String.self, forKey: .tags).split(separator: ",").map(String.init)
      }
      // No limits are an empty array: Erlang does not distinguish it from an empty object.
      limits = (try? container.decodeIfPresent([String: Int].self, forKey: .limits)) ?? [:]
    }
  }

  struct Permission: Sendable, Decodable {
    let user: String
    let configure: String
    let write: String
    let read: String
  }

  struct TopicPermission: Sendable, Decodable {
    let user: String
    let exchange: String
    let write: String
    let read: String
  }

  /// Limits of the virtual host: none, or one row.
  struct VirtualHost: Sendable, Decodable {
    let limits: [String: Int]

    init(limits: [String: Int]) { self.limits = limits }

    enum CodingKeys: String, CodingKey {
      case limits = "value"
    }

    init(from decoder: any Decoder) throws {
      // As above: an empty array means no limits.
      limits =
        (try? decoder.container(keyedBy: CodingKeys.self).decode([String: Int].self, forKey: .limits)) ?? [:]
    }
  }

  /// All users of the broker, including those of other virtual hosts.
  var users: [User] = []
  var permissions: [Permission] = []
  var topicPermissions: [TopicPermission] = []
  var virtualHosts: [VirtualHost] = []

  /// Maximum number of queues of the virtual host. `nil` if it is not limited.
  var maxQueues: Int? { virtualHosts.lazy.compactMap { $0.limits["max-queues"] }.first { $0 >= 0 } }

  func topics(of user: String) -> [TopicPermission] { topicPermissions.filter { $0.user == user } }
}
