import CountersignEncoding
import CountersignMessages

struct UserDifferences {
  let declared = UserDeclaration.countersign
  /// Including those of other virtual hosts.
  var users: [BrokerUser]
  /// Permissions in the virtual host, and permissions on routing keys.
  var rights: [BrokerObject]
  /// None, or one row.
  var hostLimits: [[String: JSONValue]]
  let virtualHost: String

  func differences() -> [TopologyDifference] {
    impersonators() + declared.flatMap(differences) + further.flatMap(differences(ofFurther:)) + queueLimit()
  }

  func notes() -> [String] {
    further.compactMap { permission in
      let name = permission["user"]
      if let kind = serviceKind(of: name) { return "user \(name) has the rights of \(kind.rawValue)" }
      return isAdministrator(name) ? "user \(name) is an administrator with rights of its own" : nil
    }
  }

  // MARK: - Declared users

  func differences(of user: UserDeclaration) -> [TopologyDifference] {
    guard let found = users.first(where: { $0.name == user.name }) else { return [missing(user)] }
    return tags(of: user, found) + user.rights.compactMap { $0.difference(from: rights) } + undeclaredTopics(of: user)
      + limits(of: user, found)
  }

  /// Adds a user without a password, which cannot log in until an administrator has set one.
  private func missing(_ user: UserDeclaration) -> TopologyDifference {
    let body: [String: JSONValue] = ["password_hash": "", "tags": .text(user.tags.joined(separator: ","))]
    return TopologyDifference(
      "user \(user.name) is missing",
      remedy: .apply(
        [ManagementWrite(["users", user.name], body)] + user.rights.map(\.write) + user.limitWrites,
        deed: "added user \(user.name), which needs a password: rabbitmqctl change_password \(user.name) …"))
  }

  private func tags(of user: UserDeclaration, _ found: BrokerUser) -> [TopologyDifference] {
    let wrong = Set(found.tags).subtracting([Self.impersonator])
    guard wrong != Set(user.tags) else { return [] }
    return [
      TopologyDifference(
        "user \(user.name): tags are \(Self.list(wrong.sorted())) instead of \(Self.list(user.tags))",
        remedy: .byHand(RabbitMQCtl.tags(of: user.name, user.tags)))
    ]
  }

  private static func list(_ tags: [String]) -> String { tags.isEmpty ? "none" : tags.joined(separator: ", ") }

  private func undeclaredTopics(of user: UserDeclaration) -> [TopologyDifference] {
    rights.all(.topicPermissions).filter { right in
      right["user"] == user.name && !user.topics.contains { $0.exchange == right["exchange"] }
    }.map {
      TopologyDifference(
        "user \(user.name) has undeclared rights to routing keys of \($0["exchange"])",
        remedy: .byHand(RabbitMQCtl.clearTopics(of: user.name, exchange: $0["exchange"], in: virtualHost)))
    }
  }

  /// A different number is the site's own choice.
  private func limits(of user: UserDeclaration, _ found: BrokerUser) -> [TopologyDifference] {
    let missing = user.limits.keys.filter { (found.limits[$0] ?? -1) < 0 }.sorted()
    guard !missing.isEmpty else { return [] }
    return [
      TopologyDifference(
        "user \(user.name) has no limit \(missing.joined(separator: ", "))",
        remedy: .apply(user.limitWrites, deed: "set the limits of user \(user.name)"))
    ]
  }

  // MARK: - Other users

  private var further: [BrokerObject] {
    rights.all(.permissions).filter { permission in
      !declared.contains { $0.name == permission["user"] } && Self.isAny(permission)
    }
  }

  /// Whether a user has rights in the virtual host.
  func hasRights(_ name: String) -> Bool {
    rights.all(.permissions).contains { $0["user"] == name && Self.isAny($0) }
  }

  private static func isAny(_ permission: BrokerObject) -> Bool {
    ["configure", "write", "read"].contains { permission[$0] != NamePattern.nothing }
  }

  private func differences(ofFurther permission: BrokerObject) -> [TopologyDifference] {
    let name = permission["user"]
    if let kind = serviceKind(of: name), let found = users.first(where: { $0.name == name }) {
      return limits(of: kind.user(name), found)
    }
    if name == Self.guest {
      return [TopologyDifference("user guest has rights", remedy: .byHand("rabbitmqctl delete_user guest"))]
    }
    if isAdministrator(name) { return [] }
    let clear = RabbitMQCtl.clear(name, in: virtualHost)
    return [
      TopologyDifference(
        "user \(name) has undeclared rights: configure \(permission["configure"]), write \(permission["write"]), read \(permission["read"])",
        remedy: .byHand("\(clear); or, if it is a service's: countersign topology user \(name) --like service"))
    ]
  }

  /// Kind of service whose rights a user has, and no others. `nil` for any other user.
  func serviceKind(of name: String) -> ServiceKind? {
    ServiceKind.allCases.first { kind in
      let user = kind.user(name)
      return user.rights.allSatisfy { $0.difference(from: rights) == nil } && undeclaredTopics(of: user).isEmpty
    }
  }

  private func isAdministrator(_ name: String) -> Bool {
    users.contains { $0.name == name && $0.tags.contains("administrator") }
  }

  /// Tag with which a user may write any name into `user_id`, which identifies senders.
  private static let impersonator = "impersonator"
  /// The broker's default user, whose password is public.
  private static let guest = "guest"

  private func impersonators() -> [TopologyDifference] {
    users.filter { $0.tags.contains(Self.impersonator) }.map { user in
      TopologyDifference(
        "user \(user.name) has the tag impersonator, which lets it publish as any other user",
        remedy: .byHand(RabbitMQCtl.tags(of: user.name, user.tags.filter { $0 != Self.impersonator })))
    }
  }

  private func queueLimit() -> [TopologyDifference] {
    guard !hostLimits.contains(where: { (BrokerUser.limits($0["value"])["max-queues"] ?? -1) >= 0 }) else { return [] }
    let write = ManagementWrite(
      ["vhost-limits", "max-queues"], ["value": .integer(Int64(VirtualHostLimits.maxQueues))])
    return [
      TopologyDifference(
        "the virtual host \(virtualHost) has no limit max-queues",
        remedy: .apply([write], deed: "set the limit max-queues of the virtual host"))
    ]
  }
}
