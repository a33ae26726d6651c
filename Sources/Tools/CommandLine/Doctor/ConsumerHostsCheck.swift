internal import CountersignMessages

/// A consumer as the management API shows it.
struct ConsumerState: Sendable, Decodable {
  let queue: String
  /// Host its connection comes from; absent until the broker has collected it.
  let host: String?

  init(queue: String, host: String?) {
    self.queue = queue
    self.host = host
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    queue = try container.decode(Queue.self, forKey: .queue).name
    // An empty list in its place, while the broker has not collected it.
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

/// Compares from how many hosts the jobs of a queue are taken with what the workers' configuration says (`queue.consumers`).
///
/// A ledger is one host's. Where workers of several hosts take a queue's jobs, and think that they are alone, a lost connection has jobs carried
/// out twice.
enum ConsumerHostsCheck {
  static func findings(_ consumers: [ConsumerState], _ files: ConfigurationFiles?) -> [Finding] {
    Topology.Queues.jobs.compactMap { queue in
      let hosts = Set(consumers.filter { $0.queue == queue }.compactMap(\.host).map(Self.host))
      return finding(queue, hosts: hosts.count, says(queue, files))
    }
  }

  private static func finding(_ queue: String, hosts: Int, _ configured: String?) -> Finding? {
    let check = "hosts of \(queue)"
    if configured == severalHosts {
      return Finding(
        check, .note,
        "\(hosts) now, with ledgers of their own: jobs that were under way when a connection was lost end as their onUnknown says"
      )
    }
    guard hosts > 1 else { return nil }
    return Finding(
      check, configured == nil ? .warning : .failed,
      "workers of \(hosts) hosts take its jobs, and each has a ledger of its own: a lost connection has jobs carried out twice",
      mend:
        "set queue.consumers to severalHosts in the configuration of each of them, or let those of one host take the queue"
    )
  }

  /// The word that the files of the queue's workers have; nil when no file of such a worker is known.
  private static func says(_ queue: String, _ files: ConfigurationFiles?) -> String? {
    guard let worker = Topology.Users.worker(ofJobs: queue) else { return nil }
    let known = files?.files.filter { $0.name.hasPrefix(worker) && $0.settings != nil } ?? []
    guard !known.isEmpty else { return nil }
    let words = known.flatMap { $0.settings ?? [] }.filter { $0.path == "queue.consumers" }.map(\.value)
    return words.contains(severalHosts) ? severalHosts : "oneHost"
  }

  private static let severalHosts = "severalHosts"

  /// The names of the machine that the broker is on are one host.
  private static func host(_ address: String) -> String {
    ["127.0.0.1", "::1", "::ffff:127.0.0.1"].contains(address) ? "localhost" : address
  }
}
