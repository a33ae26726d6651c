import FoundationEssentials

/// Facts that a process runs with, as `countersign doctor` compares it: the answer of `/runtime`.
///
/// Everybody who reaches the health port reads it: it names keys, regions, lanes with their errors, queues and
/// apps, no path but its socket's, and nothing that a key can be tried against: those are ``Guarded``.
public struct RuntimeReport: Codable, Sendable, Hashable {
  /// Name of the executable.
  public var process = ""
  /// Name of the executable and of this instance of it: `sms-worker@host/4711`.
  public var instance = ""
  /// Version of the program.
  public var version = ""
  /// Time of the process's host, in milliseconds since 1970.
  public var now: Int64 = 0
  /// Path of the socket that tells ``guarded`` as well, if there is one.
  public var socket: String?
  /// IDs of its keys.
  public var keys = Keys()
  /// Regions that messages may go to, or `*` for all. Absent where numbers play no part.
  public var regions: [String]?
  /// Lanes of a worker.
  public var lanes: [Lane] = []
  /// Rules of lanes for the numbers that they take.
  public var routes: [Route] = []
  /// Reasons for which jobs were delayed lately, the latest first.
  public var delays: [Delay] = []
  /// Work queues that it consumes.
  public var queues: [String] = []
  /// Ways in which each app proves itself, by the app's ID: those of a coordinator.
  public var apps: [String: String]?
  /// IDs of the apps by project: those of accounts and gateway.
  public var projects: [String: [String]]?
  /// Files of projects that are wrong, and why. Their projects are as they were.
  public var wrongProjects: String?
  /// Sign-ins with a fictional number that were refused since the start because an account has proven it for real.
  public var fictionalRefusals: Int?
  /// Whether it serves developers and tests.
  public var isDevelopment = false
  /// Facts for its own user and root only.
  public var guarded: Guarded?

  /// A report that says nothing yet.
  public init() {}

  /// IDs of keys, never keys.
  public struct Keys: Codable, Sendable, Hashable {
    /// Key that it seals secrets in messages with.
    public var seals: String?
    /// Keys that it opens such secrets with.
    public var opens: [String] = []
    /// Keys of refresh tokens and signing keys: those of accounts.
    public var tokens: [String]?
    /// Private keys that open what the gateway seals: those of accounts.
    public var pairs: [String]?
    /// Public key that it seals to: that of a gateway.
    public var sealsTo: String?
  }

  /// State of a lane.
  public struct Lane: Codable, Sendable, Hashable {
    public var name: String
    public var queue: String
    public var isUp: Bool
    /// Reason that it is down, or of the last call that failed.
    public var reason: String?
    /// Calls in a row that failed.
    public var failures: Int
    /// Seconds since the provider last answered. Absent before its first answer.
    public var answered: Int?

    /// State of a lane, from its worker.
    public init(name: String, queue: String, isUp: Bool, reason: String?, failures: Int, answered: Int?) {
      (self.name, self.queue, self.isUp, self.reason) = (name, queue, isUp, reason)
      (self.failures, self.answered) = (failures, answered)
    }
  }

  /// Numbers that a lane takes. An empty list takes all.
  public struct Route: Codable, Sendable, Hashable {
    public var lane: String
    public var regions: [String]
    public var prefixes: [String]

    /// Rules of a lane.
    public init(lane: String, regions: [String], prefixes: [String]) {
      (self.lane, self.regions, self.prefixes) = (lane, regions, prefixes)
    }
  }

  /// Delayed jobs of a queue with one reason.
  public struct Delay: Codable, Sendable, Hashable {
    public var queue: String
    public var code: String
    public var detail: String
    public var count: Int
    /// Seconds since the last one.
    public var age: Int

    /// Delays of a queue, from its worker.
    public init(queue: String, code: String, detail: String, count: Int, age: Int) {
      (self.queue, self.code, self.detail, self.count, self.age) = (queue, code, detail, count, age)
    }
  }

  /// Paths and check values.
  public struct Guarded: Codable, Sendable, Hashable {
    /// File that the configuration was read from.
    public var configurationFile: String?
    /// Paths, providers' hosts and words of the configuration in force, by key.
    public var settings: [String: String] = [:]
    /// Check values of its secrets.
    public var checkValues: [CheckValue] = []
  }

  func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }
}
