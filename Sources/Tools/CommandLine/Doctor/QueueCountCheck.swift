import CountersignEncoding
import CountersignMessages

/// Warns before the virtual host has no room for further queues, and names the user that has most of them.
///
/// RabbitMQ limits the queues of a virtual host, not those of a user.
enum QueueCountCheck {
  static let warnedPercent = 80
  /// Number of queues whose owners are looked up: the broker tells them one by one.
  static let sampleSize = 50

  static func findings(_ api: ManagementAPI) async throws(CommandLineError) -> [Finding] {
    let queues: [Named] = try await api.list("queues")
    let (check, limit) = ("queues of the virtual host", VirtualHostLimits.maxQueues)
    let count = "\(queues.count) of at most \(limit)"
    guard queues.count * 100 > limit * warnedPercent else { return [Finding(check, .ok, count)] }
    let owner = try await mostFrequentOwner(of: queues.map(\.name), api)
    return [
      Finding(
        check, .warning,
        count + (owner.map { ", most of them of user \($0)" } ?? "")
          + ": beyond that, no service and no gateway can declare one",
        hint: "have that service use direct reply-to, or one queue for all its requests, and end its idle connections")
    ]
  }

  private static func mostFrequentOwner(
    of queues: [String], _ api: ManagementAPI
  ) async throws(CommandLineError) -> String? {
    let connections: [Connection] = try await api.get("/api/connections")
    let users = Dictionary(connections.map { ($0.name, $0.user) }) { first, _ in first }
    let declared = Set(TopologyDeclaration.countersign.all(.queues).map(\.name))
    let others = queues.filter { !declared.contains($0) }
    var counts: [String: Int] = [:]
    for index in stride(from: 0, to: others.count, by: max(1, others.count / sampleSize)) {
      var user = owner(byName: others[index])
      if user == nil { user = try await connection(of: others[index], api).flatMap { users[$0] ?? nil } }
      if let user { counts[user, default: 0] += 1 }
    }
    return counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
  }

  /// User in a name of ``Topology/Queues/ownPrefix(of:)``.
  private static func owner(byName queue: String) -> String? {
    let parts = queue.split(separator: ".", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, queue.hasPrefix(Topology.Queues.ownPrefix(of: parts[2])) else { return nil }
    return parts[2]
  }

  /// `nil` for a queue that is not exclusive, and for one that is gone.
  private static func connection(of queue: String, _ api: ManagementAPI) async throws(CommandLineError) -> String? {
    do throws(CommandLineError) {
      let found: [String: Owner] = try await api.get(
        "/api/queues/\(PercentEncoding.encode(api.virtualHost))/\(PercentEncoding.encode(queue))?columns=owner_pid_details"
      )
      return found["owner_pid_details"]?.name
    } catch {
      guard error.code != .notPermitted, error.code != .unavailable else { throw error }
      return nil
    }
  }

  private struct Named: Decodable {
    let name: String
  }

  private struct Owner: Decodable {
    let name: String?
  }

  private struct Connection: Decodable {
    let name: String
    /// Absent until the broker has collected it.
    let user: String?
  }
}
