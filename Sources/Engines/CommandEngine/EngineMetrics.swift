import CountersignMessages
public import CountersignTelemetry

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

  /// - Parameter registry: registry of the process.
  public init(_ registry: MetricsRegistry) {
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
      "countersign_coordinator_dead_letters_total", "Messages that could not be processed.",
      labels: ["queue", "reason"])
    foreignResults = registry.counter(
      "countersign_results_foreign_total",
      "Results of jobs that the coordinator has not sent, or whose type it does not know; they are passed over.")
    forgedResults = registry.counter(
      "countersign_results_forged_total",
      "Results from users whose workers do not take such jobs, or under another routing key than their own; they are dead letters."
    )
    maintenanceFailures = registry.counter(
      "countersign_maintenance_failures_total",
      "Rounds in which a part of the coordinator's maintenance failed; it is tried again.", labels: ["part"])
    skippedRows = registry.counter(
      "countersign_rows_skipped_total",
      "Rows of the coordinator's database that could not be read or dealt with and were stepped around.",
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

  func count(_ label: CommandLabel, took: Duration) {
    commands.with(label.command, label.code).increment()
    commandSeconds.with(label.command).observe(took)
  }

  /// Records how far the timestamp of a command is from the local time.
  func noteSkew(of envelope: Envelope, at now: UnixTime) {
    skew.note(envelope, at: now)
  }

  func batchSize(of queue: String, _ size: Int) {
    batches.with(queue).observe(Double(size))
  }
}
