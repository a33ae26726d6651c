import CountersignMessages
import CountersignTelemetry
import Synchronization

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
