import CountersignMessages
public import CountersignTelemetry
import Synchronization

/// Metrics of the engine, the same for every service that stands on it.
public struct EngineMetrics: Sendable {
  let outboxMessages: Gauge
  let undelivered: Counter
  let unpublishable: Counter
  let requesterGone: Counter
  let deadLetters: MetricFamily<Counter>
  let foreignResults: Counter
  let forgedResults: Counter
  let maintenanceFailures: MetricFamily<Counter>
  let skippedRows: MetricFamily<Counter>
  private let commands: MetricFamily<Counter>
  private let commandSeconds: MetricFamily<Histogram>
  private let skew: SenderSkew
  private let batches: MetricFamily<Histogram>

  /// - Parameters:
  ///   - registry: registry of the process.
  ///   - service: the service, in the names of metrics that several services have with other labels.
  public init(_ registry: MetricsRegistry, of service: String = "coordinator") {
    outboxMessages = registry.gauge(
      "countersign_outbox_messages", "Messages that are stored and not yet confirmed by the broker.")
    undelivered = registry.counter(
      "countersign_outbox_undelivered_total", "Jobs that no queue took when they were published; they are tried again.")
    unpublishable = registry.counter(
      "countersign_outbox_unpublishable_total",
      "Messages that AMQP has no room for; they are dead letters, and what was behind them was published.")
    requesterGone = registry.counter(
      "countersign_replies_undelivered_total", "Replies whose requester was gone.")
    deadLetters = registry.counter(
      "countersign_\(service)_dead_letters_total", "Messages that could not be processed.",
      labels: ["queue", "reason"])
    foreignResults = registry.counter(
      "countersign_results_foreign_total",
      "Results of jobs that this service has not sent, or whose type it does not know; they are passed over.")
    forgedResults = registry.counter(
      "countersign_results_forged_total",
      "Results and replies from users that may not send them, or under another routing key than their own; they are dead letters."
    )
    maintenanceFailures = registry.counter(
      "countersign_maintenance_failures_total",
      "Rounds in which a part of the maintenance failed; it is tried again.", labels: ["part"])
    skippedRows = registry.counter(
      "countersign_rows_skipped_total",
      "Rows of the database that could not be read or processed and were skipped.",
      labels: ["table"])
    commands = registry.counter(
      "countersign_commands_total",
      "Commands by name and by the code of their error: OK without one, COMMAND_TOO_OLD for those that came too late.",
      labels: ["command", "code"])
    commandSeconds = registry.histogram(
      "countersign_command_seconds", "From the delivery of a command to the confirmation of its reply.",
      labels: ["command"])
    skew = SenderSkew(registry)
    batches = registry.histogram(
      "countersign_batch_deliveries", "Deliveries that shared one transaction.", labels: ["queue"],
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024])
  }

  /// Makes the series of alerts that fire at a first event, which is an increase only from a value of before.
  func begin(_ registry: FlowRegistry) {
    for due in registry.dueRecords { _ = skippedRows.with(due.kind.name) }
    _ = skippedRows.with("outbox")
    for part in registry.tasks.map(\.part) + registry.dueRecords.map(\.part) + MaintenancePart.own {
      _ = maintenanceFailures.with(part.rawValue)
    }
    for command in registry.commandKinds.map(\.type.name) + [CommandLabel.unknown] {
      _ = commands.with(command, APIErrorCode.internalError.rawValue)
    }
  }

  func count(_ label: CommandLabel, took: Duration) {
    commands.with(label.command, label.code).increment()
    commandSeconds.with(label.command).observe(took)
  }

  func noteSkew(of envelope: Envelope, at now: UnixTime) {
    skew.note(envelope, at: now)
  }

  func batchSize(of queue: String, _ size: Int) {
    batches.with(queue).observe(Double(size))
  }
}

struct SenderSkew: Sendable {
  /// Maximum number of distinguished senders. Each service has its own user of the broker, and 32 exceed the services
  /// that request codes in one installation; services choose the names, so without a bound each would be a series.
  static let maxSenders = 32
  private static let maxNameBytes = 64
  private static let unnamed = "unnamed"

  private let seconds: MetricFamily<Gauge>
  private let senders = Senders()

  init(_ registry: MetricsRegistry) {
    seconds = registry.gauge(
      "countersign_command_skew_seconds",
      "How far the timestamp of a sender's latest command lies behind the time here: what it waited, and what its clock is slow; negative when its clock is fast.",
      labels: ["sender"])
  }

  func note(_ envelope: Envelope, at now: UnixTime) {
    guard let timestamp = envelope.timestamp else { return }
    let name = envelope.userID ?? envelope.appID ?? Self.unnamed
    let label = senders.label(of: name.utf8.count <= Self.maxNameBytes ? name : MetricFamily<Gauge>.overflowValue)
    // Whole seconds, so on average half of one has passed when it is written.
    seconds.with(label).set(Double((now - timestamp).wholeMilliseconds) / 1000 - 0.5)
  }

  /// Names beyond the maximum share a label.
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
