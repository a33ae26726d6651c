/// Gives users of the broker their declared rights. Requires an administrator.
struct UserGrants {
  let api: ManagementAPI

  func apply(_ remedy: TopologyDifference.Remedy) async throws(CommandLineError) {
    switch remedy {
    case .addUser(let user): try await add(user)
    case .setPermissions(let user): try await setPermissions(of: user)
    case .setTopicRight(let user, let right): try await set(right, of: user)
    case .setLimits(let user): try await setLimits(of: user)
    case .setQueueLimit:
      try await api.write("PUT", ["vhost-limits", "max-queues"], LimitBody(value: VirtualHostLimits.maxQueues))
    case .declareExchange, .declareQueue, .bind, .setPolicy, .byHand: return
    }
  }

  /// Adds a user without a password, which cannot log in until an administrator has set one.
  private func add(_ user: UserDeclaration) async throws(CommandLineError) {
    try await api.write("PUT", path: ["users", user.name], UserBody(tags: user.tags.joined(separator: ",")))
    try await setPermissions(of: user)
    for right in user.topics { try await set(right, of: user) }
    try await setLimits(of: user)
  }

  private func setPermissions(of user: UserDeclaration) async throws(CommandLineError) {
    try await api.write(
      "PUT", ["permissions", user.name],
      PermissionBody(configure: user.configure, write: user.write, read: user.read))
  }

  private func set(_ right: UserDeclaration.TopicRight, of user: UserDeclaration) async throws(CommandLineError) {
    try await api.write(
      "PUT", ["topic-permissions", user.name],
      TopicBody(exchange: right.exchange, write: right.write, read: right.read))
  }

  private func setLimits(of user: UserDeclaration) async throws(CommandLineError) {
    for (name, value) in (user.limits?.values ?? [:]).sorted(by: { $0.key < $1.key }) {
      try await api.write("PUT", path: ["user-limits", user.name, name], LimitBody(value: value))
    }
  }
}

private struct UserBody: Encodable {
  let passwordHash = ""
  let tags: String

  enum CodingKeys: String, CodingKey {
    case tags
    case passwordHash = "password_hash"
  }
}

private struct PermissionBody: Encodable {
  let configure: String
  let write: String
  let read: String
}

private struct TopicBody: Encodable {
  let exchange: String
  let write: String
  let read: String
}

private struct LimitBody: Encodable {
  let value: Int
}
