import CountersignMessages

struct ConsumerState: Sendable, Decodable {
  let queue: String
  /// Absent until the broker has collected it.
  let host: String?

  init(queue: String, host: String?) {
    self.queue = queue
    self.host = host
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    queue = try container.decode(Queue.self, forKey: .queue).name
    // The API sends an empty list until the broker has collected the channel.
    host = (try? container.decode(Channel.self, forKey: .channel))?.host
  }

  private enum CodingKeys: String, CodingKey {
    case queue
    case channel = "channel_details"
  }

  private struct Queue: Decodable {
    let name: String
  }

  private struct Channel: Decodable {
    let host: String?

    enum CodingKeys: String, CodingKey {
      case host = "peer_host"
    }
  }
}

/// Compares the number of hosts that consume a job queue with the workers' configuration (`queue.consumers`).
///
/// An SQLite ledger belongs to one host. If workers of several hosts consume a queue and each is configured as the only
/// one, a lost connection makes them carry out jobs twice. One in PostgreSQL is shared. Mail-workers of several hosts
/// have to share their suppression list too.
enum ConsumerHostsCheck {
  static func findings(_ consumers: [ConsumerState], _ files: ConfigurationFiles?) -> [Finding] {
    Topology.Queues.jobs.compactMap { queue in
      let hosts = Set(consumers.filter { $0.queue == queue }.compactMap(\.host).map(Self.host))
      let worker = Topology.Users.worker(ofJobs: queue)
      let isMail = worker == Topology.Users.mailWorker
      return finding(queue, hosts: hosts.count, worker.flatMap { configured($0, files) }, isMail: isMail)
    }
  }

  private static func finding(_ queue: String, hosts: Int, _ configured: String?, isMail: Bool) -> Finding? {
    let check = "hosts of \(queue)"
    if configured == severalHosts {
      return Finding(
        check, .note,
        "\(hosts) now, each with its own ledger: onUnknown decides about jobs in progress when a connection is lost"
      )
    }
    guard hosts > 1 else { return nil }
    if configured == sharedLedger {
      return Finding(check, .ok, "\(hosts) now, which share a ledger")
    }
    let status: Finding.Status = configured == nil ? .warning : .failed
    if isMail {
      return Finding(
        check, status,
        "workers of \(hosts) hosts consume its jobs, each with its own ledger or suppression list: a lost connection makes them carry out jobs twice, and one host alone forgets the address of a deleted account",
        hint: "give them a ledger in PostgreSQL (ledger.type), without suppressions.type, or use one host only")
    }
    return Finding(
      check, status,
      "workers of \(hosts) hosts consume its jobs, each with its own ledger: a lost connection makes them carry out jobs twice",
      hint:
        "give them a ledger in PostgreSQL (ledger.type), or set queue.consumers to severalHosts in each, or use one host only"
    )
  }

  /// Value of `queue.consumers` in a worker's files, unless all share what they have to. `nil` if no such file is known.
  private static func configured(_ worker: String, _ files: ConfigurationFiles?) -> String? {
    let known = files?.files.filter { $0.name.hasPrefix(worker) }.compactMap(\.settings) ?? []
    guard !known.isEmpty else { return nil }
    func values(_ path: String) -> [String?] { known.map { $0.first { $0.path == path }?.value } }
    let isMail = worker == Topology.Users.mailWorker
    if values("ledger.type").allSatisfy({ $0 == "postgresql" }),
      !isMail || !values("suppressions.type").contains("sqlite")
    {
      return sharedLedger
    }
    // A mail-worker does not start with `severalHosts`.
    return !isMail && values("queue.consumers").contains(severalHosts) ? severalHosts : "oneHost"
  }

  private static let severalHosts = "severalHosts"
  private static let sharedLedger = "sharedLedger"

  /// Maps all names of the broker's own machine to one.
  private static func host(_ address: String) -> String {
    ["127.0.0.1", "::1", "::ffff:127.0.0.1"].contains(address) ? "localhost" : address
  }
}
