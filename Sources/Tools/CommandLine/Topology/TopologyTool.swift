import CountersignMessages

/// Compares the broker with the declaration, and fixes differences.
struct TopologyTool: Sendable {
  let declaration: TopologyDeclaration
  var users: [UserDeclaration] = UserDeclaration.countersign
  let api: ManagementAPI
  /// Whether to compare users and their rights, which requires an administrator.
  var includesUsers = true

  func check() async throws(CommandLineError) -> TopologyReport {
    let differences = declaration.differences(from: try await state())
    guard includesUsers else { return TopologyReport(differences: differences) }
    do {
      let comparison = UserDifferences(declared: users, state: try await userState(), virtualHost: api.virtualHost)
      return TopologyReport(differences: differences + comparison.differences(), notes: comparison.notes())
    } catch {
      guard error.code == .notPermitted else { throw error }
      return TopologyReport(differences: differences, unchecked: TopologyReport.needsAdministrator)
    }
  }

  /// Fixes all differences that do not need a decision, one after the other. Repeating it changes nothing.
  func apply() async throws(CommandLineError) -> (fixed: [TopologyDifference], left: TopologyReport) {
    let differences = try await check().differences
    for difference in differences { try await fix(difference) }
    return (differences.filter(\.isFixable), try await check())
  }

  /// Declares the queue that keeps events for a service while it is away. Repeating it changes nothing.
  func declareEvents(of user: String) async throws(CommandLineError) {
    try await fix(
      TopologyDifference("", remedy: .declareQueue(TopologyQueue(name: Topology.Queues.events(of: user)))))
  }

  private func state() async throws(CommandLineError) -> TopologyState {
    TopologyState(
      exchanges: try await api.list("exchanges"),
      queues: try await api.list("queues"),
      bindings: try await api.list("bindings"),
      policies: try await api.list("policies"))
  }

  private func userState() async throws(CommandLineError) -> UserState {
    UserState(
      users: try await api.get("/api/users"),
      permissions: try await api.listOfVirtualHost("permissions"),
      topicPermissions: try await api.listOfVirtualHost("topic-permissions"),
      virtualHosts: try await api.list("vhost-limits"))
  }

  private func fix(_ difference: TopologyDifference) async throws(CommandLineError) {
    switch difference.remedy {
    case .declareExchange(let exchange):
      try await api.write("PUT", ["exchanges", exchange.name], ExchangeBody(type: exchange.kind))
    case .declareQueue(let queue):
      try await api.write("PUT", ["queues", queue.name], QueueBody(arguments: ["x-queue-type": queue.kind]))
    case .bind(let binding):
      try await api.write(
        "POST", ["bindings", "e", binding.exchange, "q", binding.queue], BindingBody(routingKey: binding.routingKey))
    case .setPolicy(let policy):
      try await api.write(
        "PUT", ["policies", policy.name],
        PolicyBody(
          pattern: policy.pattern, definition: policy.definition, priority: policy.priority, applyTo: policy.target))
    case .addUser, .setPermissions, .setTopicRight, .setLimits, .setQueueLimit:
      try await UserGrants(api: api).apply(difference.remedy)
    case .byHand: return
    }
  }
}

private struct ExchangeBody: Encodable {
  let type: TopologyExchange.Kind
  let durable = true
  let arguments: [String: String] = [:]
}

private struct QueueBody: Encodable {
  let durable = true
  let arguments: [String: TopologyQueue.Kind]
}

private struct BindingBody: Encodable {
  let routingKey: String
  let arguments: [String: String] = [:]

  enum CodingKeys: String, CodingKey {
    case arguments
    case routingKey = "routing_key"
  }
}

private struct PolicyBody: Encodable {
  let pattern: String
  let definition: [String: PolicyDeclaration.Value]
  let priority: Int
  let applyTo: PolicyDeclaration.Target

  enum CodingKeys: String, CodingKey {
    case pattern, definition, priority
    case applyTo = "apply-to"
  }
}
