import CountersignEncoding
import CountersignMessages

struct TopologyTool: Sendable {
  let api: ManagementAPI
  /// Requires an administrator.
  var includesUsers = true

  func check() async throws(CommandLineError) -> TopologyReport {
    let found = try await objects([.policies, .exchanges, .queues, .bindings]) { "/api/\($0.rawValue)/\($1)" }
    let differences = TopologyDifferences(found: found).differences()
    guard includesUsers else { return TopologyReport(differences: differences) }
    do {
      let comparison = try await users()
      return TopologyReport(differences: differences + comparison.differences(), notes: comparison.notes())
    } catch {
      guard error.code == .notPermitted else { throw error }
      return TopologyReport(differences: differences, unchecked: TopologyReport.needsAdministrator)
    }
  }

  /// Policies and queues, which every user of the management API may see.
  func eventObjects() async throws(CommandLineError) -> [BrokerObject] {
    try await objects([.policies, .queues]) { "/api/\($0.rawValue)/\($1)" }
  }

  /// Requires an administrator.
  func users() async throws(CommandLineError) -> UserDifferences {
    UserDifferences(
      users: try await api.rows("/api/users").map(BrokerUser.init),
      rights: try await objects([.permissions, .topicPermissions]) { "/api/vhosts/\($1)/\($0.rawValue)" },
      hostLimits: try await api.rows("/api/vhost-limits/\(api.encodedHost)"), virtualHost: api.virtualHost)
  }

  /// Fixes all differences that do not need a decision, one after the other. Repeating it changes nothing.
  /// - Parameter announce: is called before the first fix, with all of them, unless there is none.
  func apply(
    announce: ([TopologyDifference]) async -> Void = { _ in }
  ) async throws(CommandLineError) -> (fixed: [TopologyDifference], left: TopologyReport) {
    let fixes = try await check().differences.filter(\.isFixable)
    if !fixes.isEmpty { await announce(fixes) }
    for write in fixes.flatMap(\.writes) { try await api.write(write) }
    return (fixes, try await check())
  }

  /// Whether fixes declare what brings a note to the coordinator.
  static func bringsNotes(_ fixes: [TopologyDifference]) -> Bool {
    let (exchange, queue) = (Topology.Exchanges.commands, Topology.Queues.commands)
    let objects: [BrokerObject] = [
      .exchange(exchange, "direct"), .queue(queue), .binding(of: queue, to: exchange, under: NoteAct.routingKey),
    ]
    return !Set(objects.map(\.write)).isDisjoint(with: fixes.flatMap(\.writes))
  }

  /// Repeating it changes nothing.
  func declareEvents(of user: String) async throws(CommandLineError) {
    try await api.write(BrokerObject.queue(Topology.Queues.events(of: user)).write)
  }

  private func objects(
    _ kinds: [BrokerObject.Kind], path: (BrokerObject.Kind, _ host: String) -> String
  ) async throws(CommandLineError) -> [BrokerObject] {
    var objects: [BrokerObject] = []
    for kind in kinds {
      objects += try await api.rows(path(kind, api.encodedHost)).map { BrokerObject(kind, told: $0) }
    }
    return objects
  }
}
