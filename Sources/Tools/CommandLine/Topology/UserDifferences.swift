import CountersignMessages

/// Compares the users of the broker with the declared ones.
struct UserDifferences {
  let declared: [UserDeclaration]
  let state: UserState
  let virtualHost: String

  func differences() -> [TopologyDifference] {
    impersonators() + declared.flatMap(differences) + further.flatMap(differences(ofFurther:)) + queueLimit()
  }

  /// Notes about permitted further users: those of services, and administrators.
  func notes() -> [String] {
    further.compactMap { permission in
      if let model = model(of: permission) { return "user \(permission.user) has the rights of \(model)" }
      if isAdministrator(permission.user) {
        return "user \(permission.user) is an administrator with rights of its own"
      }
      return nil
    }
  }

  // MARK: - Declared users

  private func differences(of user: UserDeclaration) -> [TopologyDifference] {
    guard let found = state.users.first(where: { $0.name == user.name }) else {
      return [TopologyDifference("user \(user.name) is missing", remedy: .addUser(user))]
    }
    return tags(of: user, found) + permissions(of: user) + topics(of: user) + limits(of: user, found)
  }

  private func tags(of user: UserDeclaration, _ found: UserState.User) -> [TopologyDifference] {
    let wrong = Set(found.tags).subtracting([Self.impersonator])
    guard wrong != Set(user.tags) else { return [] }
    return [
      TopologyDifference(
        "user \(user.name) has \(Self.list(wrong.sorted())) instead of \(Self.list(user.tags))",
        remedy: .byHand(RabbitMQCtl.tags(of: user)))
    ]
  }

  private static func list(_ tags: [String]) -> String {
    switch tags.count {
    case 0: "no tag"
    case 1: "the tag \(tags[0])"
    default: "the tags \(tags.joined(separator: ", "))"
    }
  }

  private func permissions(of user: UserDeclaration) -> [TopologyDifference] {
    let found = state.permissions.first { $0.user == user.name }
    let wrong = [
      ("configure", found?.configure ?? "", user.configure), ("write", found?.write ?? "", user.write),
      ("read", found?.read ?? "", user.read),
    ].filter { Self.normal($0.1) != Self.normal($0.2) }
    guard !wrong.isEmpty else { return [] }
    let text = wrong.map { "\($0.0) is \(Self.normal($0.1)) instead of \($0.2)" }.joined(separator: ", ")
    return [TopologyDifference("rights of user \(user.name): \(text)", remedy: .setPermissions(user))]
  }

  private func topics(of user: UserDeclaration) -> [TopologyDifference] {
    let found = state.topics(of: user.name)
    let wrong = user.topics.filter { right in
      !found.contains { $0.exchange == right.exchange && $0.write == right.write && $0.read == right.read }
    }.map { right in
      TopologyDifference(
        "user \(user.name) lacks its routing keys of \(right.exchange): write \(right.write), read \(right.read)",
        remedy: .setTopicRight(user, right))
    }
    let more = found.filter { one in !user.topics.contains { $0.exchange == one.exchange } }.map {
      TopologyDifference(
        "user \(user.name) has undeclared rights to routing keys of \($0.exchange)",
        remedy: .byHand(RabbitMQCtl.clearTopics(of: user.name, exchange: $0.exchange, in: virtualHost)))
    }
    return wrong + more
  }

  /// Missing limits. A different number is the site's own choice.
  private func limits(of user: UserDeclaration, _ found: UserState.User) -> [TopologyDifference] {
    let missing = (user.limits?.values ?? [:]).keys.filter { (found.limits[$0] ?? -1) < 0 }.sorted()
    guard !missing.isEmpty else { return [] }
    return [
      TopologyDifference(
        "user \(user.name) has no limit \(missing.joined(separator: ", "))", remedy: .setLimits(user))
    ]
  }

  // MARK: - Other users

  /// Users with rights in the virtual host that are not declared.
  private var further: [UserState.Permission] {
    state.permissions.filter { permission in
      !declared.contains { $0.name == permission.user }
        && [permission.configure, permission.write, permission.read].contains { Self.normal($0) != NamePattern.nothing }
    }
  }

  private func differences(ofFurther permission: UserState.Permission) -> [TopologyDifference] {
    let name = permission.user
    if let model = model(of: permission), let found = state.users.first(where: { $0.name == name }) {
      return limits(of: model == Topology.Users.sender ? .sender(name) : .service(name), found)
    }
    if isAdministrator(name), name != Self.guest { return [] }
    let clear = RabbitMQCtl.clear(name, in: virtualHost)
    guard name != Self.guest else {
      return [TopologyDifference("user guest has rights", remedy: .byHand("rabbitmqctl delete_user guest"))]
    }
    return [
      TopologyDifference(
        "user \(name) has undeclared rights: configure \(permission.configure), write \(permission.write), read \(permission.read)",
        remedy: .byHand("\(clear); or, if it is a service's: countersign topology user \(name) --like service"))
    ]
  }

  /// Declared user whose rights a further one has.
  private func model(of permission: UserState.Permission) -> String? {
    [
      (Topology.Users.service, UserDeclaration.service(permission.user)),
      (Topology.Users.sender, UserDeclaration.sender(permission.user)),
    ].first { has(permission, the: $0.1) }?.0
  }

  private func has(_ permission: UserState.Permission, the user: UserDeclaration) -> Bool {
    permission.configure == user.configure && permission.write == user.write && permission.read == user.read
      && topics(of: user).isEmpty
  }

  private func isAdministrator(_ name: String) -> Bool {
    state.users.contains { $0.name == name && $0.tags.contains("administrator") }
  }

  /// Tag with which a user may write any name into `user_id`, which identifies senders.
  private static let impersonator = "impersonator"
  /// The broker's default user, whose password is public.
  private static let guest = "guest"

  private func impersonators() -> [TopologyDifference] {
    state.users.filter { $0.tags.contains(Self.impersonator) }.map { user in
      TopologyDifference(
        "user \(user.name) has the tag impersonator, which lets it publish as any other user",
        remedy: .byHand(RabbitMQCtl.tags(of: user.name, user.tags.filter { $0 != Self.impersonator })))
    }
  }

  private func queueLimit() -> [TopologyDifference] {
    guard state.maxQueues == nil else { return [] }
    return [TopologyDifference("the virtual host \(virtualHost) has no limit max-queues", remedy: .setQueueLimit)]
  }

  private static func normal(_ pattern: String) -> String { pattern.isEmpty ? NamePattern.nothing : pattern }
}
