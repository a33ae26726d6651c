import CountersignConcurrency

/// Order in which a connection tries the hosts of its broker, and the waits between attempts.
///
/// Each connection draws its own order, so a fleet spreads over the hosts. Within a round the next host follows soon.
/// The retry delay grows once a round. Each round without an answer in time doubles the time of an attempt.
struct HostRotation {
  /// Time for TCP, TLS and login together while there is another host to try.
  static let patience: Duration = .seconds(3)
  private static let maxPatience: Duration = .seconds(60)
  /// An endpoint that fails at once must not be called again at once.
  static let minRetryDelay: Duration = .milliseconds(10)
  /// Lifetime from which a lost connection counts as a success: the retry delays start over.
  static let stableAfter: Duration = .seconds(10)

  private let hosts: [BrokerHost]
  private var index = 0
  private var backoff: Backoff
  /// Failures since the last stable connection.
  private var failures = 0
  private var patience = Self.patience
  /// Whether an attempt timed out since the last login.
  private var wasSlow = false
  /// Last failure that waiting does not fix, its host and its number.
  private var grave: (error: AMQPError, host: BrokerHost, number: Int)?

  init(
    _ hosts: [BrokerHost], delays: ConnectionOptions.ReconnectDelay, using generator: inout some RandomNumberGenerator
  ) {
    self.hosts = hosts.shuffled(using: &generator)
    backoff = Backoff(delays.min...delays.max, minDelay: Self.minRetryDelay, stableAfter: Self.stableAfter)
  }

  var host: BrokerHost { hosts[index] }

  /// `nil`, with one host, leaves it to the options.
  func timeout(_ options: ConnectionOptions) -> Duration? {
    hosts.count == 1 ? nil : min(options.connectTimeout, patience)
  }

  mutating func loggedIn() {
    patience = Self.patience
    wasSlow = false
  }

  /// A call of `failed` follows.
  mutating func ended(after lifetime: Duration) {
    backoff.recordEnd(after: lifetime)
    if lifetime >= Self.stableAfter { (failures, grave) = (0, nil) }
  }

  mutating func failed(_ error: AMQPError, random: Double) -> Duration {
    failures += 1
    if Self.isGrave(error) { grave = (error, host, failures) }
    wasSlow = wasSlow || error.code == .timedOut
    index = (index + 1) % hosts.count
    guard failures.isMultiple(of: hosts.count) else { return backoff.delay(after: 1, random: random) }
    if wasSlow { patience = min(patience * 2, Self.maxPatience) }
    wasSlow = false
    return backoff.next(random: random)
  }

  /// The last one, unless a grave one is less than a round old.
  func shown(_ last: AMQPError, at host: BrokerHost) -> (error: AMQPError, host: BrokerHost) {
    guard let grave, failures - grave.number < hosts.count else { return (last, host) }
    return (grave.error, grave.host)
  }

  /// The broker answered, and refuses something.
  private static func isGrave(_ error: AMQPError) -> Bool { !error.isRetriable || error.code == .notFound }
}
