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
      let comparison = UserDifferences(
        users: try await api.rows("/api/users").map(BrokerUser.init),
        rights: try await objects([.permissions, .topicPermissions]) { "/api/vhosts/\($1)/\($0.rawValue)" },
        hostLimits: try await api.rows("/api/vhost-limits/\(api.encodedHost)"), virtualHost: api.virtualHost)
      return TopologyReport(differences: differences + comparison.differences(), notes: comparison.notes())
    } catch {
      guard error.code == .notPermitted else { throw error }
      return TopologyReport(differences: differences, unchecked: TopologyReport.needsAdministrator)
    }
  }

  /// Fixes all differences that do not need a decision, one after the other. Repeating it changes nothing.
  func apply() async throws(CommandLineError) -> (fixed: [TopologyDifference], left: TopologyReport) {
    let differences = try await check().differences
    for write in differences.flatMap(\.writes) { try await api.write(write) }
    return (differences.filter(\.isFixable), try await check())
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
