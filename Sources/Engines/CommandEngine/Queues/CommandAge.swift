import CountersignMessages
public import CountersignTelemetry
import Synchronization

/// Age of a command, by the `timestamp` of its sender's clock.
///
/// An old start is refused: its requester has gone, so its SMS would be wasted, use up the budgets of current
/// requesters, and count as a code that did not come back.
public enum CommandAge {
  /// AMQP keeps whole seconds, and most senders truncate: a command may have been sent up to the end of the second that
  /// its timestamp names.
  private static let unitOfTimestamp = Duration.milliseconds(999)

  /// The least age that a timestamp allows for.
  /// - Returns: `nil` without a timestamp, and for one in the future: the sender's clock is wrong.
  static func least(of timestamp: UnixTime?, at now: UnixTime) -> Duration? {
    guard let timestamp, timestamp <= now else { return nil }
    return max(.zero, now - timestamp - unitOfTimestamp)
  }

  /// The requester may have gone when the command has waited longer: apps give up after ten to thirty seconds. Clocks
  /// synchronized by NTP differ by less.
  private static let longestPatience = Duration.seconds(10)

  /// Whether a command has waited so long that its requester may have gone.
  public static func isLate(_ timestamp: UnixTime?, at now: UnixTime) -> Bool {
    least(of: timestamp, at: now).map { $0 > longestPatience } ?? false
  }
}

extension APIError {
  /// - Parameters:
  ///   - age: the measured age.
  ///   - limit: see ``EngineRules/maxCommandAge``.
  static func commandTooOld(_ age: Duration, limit: Duration) -> APIError {
    APIError(
      .internalError,
      "the command was sent \(age.components.seconds) s ago, and is carried out within \(limit.components.seconds) s only: send a new one; if it was not late, set the clocks of its sender and of the coordinator",
      field: "timestamp", reason: tooOld)
  }

  /// The reason of ``commandTooOld(_:limit:)``.
  static let tooOld = "COMMAND_TOO_OLD"
}

/// Measures, by sender, how far the timestamps of commands are from the local time.
struct SenderSkew: Sendable {
  /// Maximum number of distinguished senders. Each service has its own user of the broker, and 32 exceed the services
  /// that request codes in one installation; services choose the names, so without a bound each would be a series.
  static let maxSenders = 32
  /// Characters of a name.
  private static let maxNameBytes = 64
  /// Label of senders that state neither their user of the broker nor their program.
  private static let unnamed = "unnamed"

  private let seconds: MetricFamily<Gauge>
  private let senders = Senders()

  init(_ registry: MetricsRegistry) {
    seconds = registry.gauge(
      "countersign_command_skew_seconds",
      "How far the timestamp of a sender's latest command lies behind the time here: what it waited, and what its clock is slow; negative when its clock is fast.",
      labels: ["sender"])
  }

  /// Records a command's skew; a command without a timestamp has none.
  func note(_ envelope: Envelope, at now: UnixTime) {
    guard let timestamp = envelope.timestamp else { return }
    let name = envelope.userID ?? envelope.appID ?? Self.unnamed
    let label = senders.label(of: name.utf8.count <= Self.maxNameBytes ? name : MetricFamily<Gauge>.overflowValue)
    // Whole seconds, so on average half of one has passed when it is written.
    seconds.with(label).set(Double((now - timestamp).wholeMilliseconds) / 1000 - 0.5)
  }

  /// The first names up to the maximum; later ones share a label.
  private final class Senders: Sendable {
    private let names = Mutex<Set<String>>([])

    func label(of name: String) -> String {
      names.withLock { names in
        if names.contains(name) { return name }
        guard names.count < SenderSkew.maxSenders else { return MetricFamily<Gauge>.overflowValue }
        names.insert(name)
        return name
      }
    }
  }
}
