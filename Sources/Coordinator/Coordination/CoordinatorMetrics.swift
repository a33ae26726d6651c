import CountersignMessages
import CountersignTelemetry

/// The coordinator's metrics.
///
/// The share of codes that came back is `countersign_conversion_verified_total` over
/// `countersign_conversion_sent_total`.
struct CoordinatorMetrics: Sendable {
  let outboxMessages: Gauge
  let liveVerifications: Gauge
  let undelivered: Counter
  let unpublishable: Counter
  let requesterGone: Counter
  let deadLetters: MetricFamily<Counter>
  let foreignResults: Counter
  let forgedResults: Counter
  let maintenanceFailures: MetricFamily<Counter>
  let skippedRows: MetricFamily<Counter>
  let conversion: ConversionMetrics
  private let commands: MetricFamily<Counter>
  private let commandSeconds: MetricFamily<Histogram>
  private let skew: SenderSkew
  private let batches: MetricFamily<Histogram>
  private let verifications: MetricFamily<Counter>
  private let limited: MetricFamily<Counter>
  private let wrongCodes: MetricFamily<Counter>
  private let reports: MetricFamily<Counter>
  private let proofs: MetricFamily<Counter>
  private let operations: MetricFamily<Counter>

  init(_ registry: MetricsRegistry) {
    conversion = ConversionMetrics(registry)
    outboxMessages = registry.gauge(
      "countersign_outbox_messages", "Messages that are stored and not yet confirmed by the broker.")
    liveVerifications = registry.gauge(
      "countersign_verifications_live", "Verifications whose code can still be checked.")
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
    verifications = registry.counter(
      "countersign_verifications_total",
      "Verifications that were started, sent, delivered, undelivered, approved, failed, expired or canceled.",
      labels: ["event"])
    limited = registry.counter(
      "countersign_limited_total", "Refusals by the limit that was reached.", labels: ["limit"])
    wrongCodes = registry.counter(
      "countersign_wrong_codes_total", "Codes that were compared and were wrong, of real and of fictional numbers.",
      labels: ["number"])
    reports = registry.counter(
      "countersign_message_outcomes_total", "Messages of verifications by what became of them.", labels: ["outcome"])
    proofs = registry.counter(
      "countersign_app_proofs_total", "What became of proofs of apps, by push and by reCAPTCHA.",
      labels: ["method", "outcome"])
    operations = registry.counter(
      "countersign_operations_total", "Revocations that were started, and how they ended.", labels: ["kind", "ending"])
    beginAtZero()
  }

  /// Makes the series that alerts watch before the first refusal and the first wrong code: `increase()` of Prometheus
  /// takes the first value of a series for its beginning and so misses what a series begins with.
  private func beginAtZero() {
    for scope in LimitRefusal.Scope.allCases { _ = limited.with(scope.rawValue) }
    for number in [Self.realNumber, Self.fictionalNumber] { _ = wrongCodes.with(number) }
  }

  /// Values of the label `number`.
  private static let realNumber = "real"
  private static let fictionalNumber = "fictional"

  func count(_ counts: TransactionCounts) {
    for announcement in counts.announcements {
      verifications.with(announcement.rawValue).increment()
      liveVerifications.add(announcement.changeOfLive)
    }
    for scope in counts.refusals { limited.with(scope.rawValue).increment() }
    if counts.wrongCodes.real > 0 { wrongCodes.with(Self.realNumber).increment(by: UInt64(counts.wrongCodes.real)) }
    if counts.wrongCodes.fictional > 0 {
      wrongCodes.with(Self.fictionalNumber).increment(by: UInt64(counts.wrongCodes.fictional))
    }
    for outcome in counts.reports { reports.with(outcome.rawValue).increment() }
    for count in counts.proofs { proofs.with(count.method.rawValue, count.outcome).increment() }
    for count in counts.operations { operations.with(count.kind.rawValue, count.ending).increment() }
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

extension VerificationAction.Announcement {
  /// Change of the number of live verifications.
  fileprivate var changeOfLive: Double {
    switch self {
    case .started: 1
    case .sent, .delivered, .undelivered: 0
    case .approved, .failed, .expired, .canceled: -1
    }
  }
}

/// Counts of a transaction for the metrics, added when it is committed.
struct TransactionCounts: Sendable, Hashable {
  var announcements: [VerificationAction.Announcement] = []
  var refusals: [LimitRefusal.Scope] = []
  var reports: [JobReport.Outcome] = []
  var proofs: [ProofCount] = []
  var operations: [OperationCount] = []
  /// Wrong codes, of real numbers and of fictional ones.
  var wrongCodes = WrongCodes()

  /// Counts the announcements of a verification: once, however many handles its code has. Events of single handles are
  /// not counted while the code stays valid.
  mutating func note(_ actions: [VerificationAction], on verification: PhoneVerification) {
    var hasEnded = false
    for case .announce(let announcement, to: let handle) in actions {
      switch announcement {
      case .sent, .delivered, .undelivered: announcements.append(announcement)
      case .started where handle == PhoneVerification.firstHandle && verification.handles.isEmpty:
        announcements.append(announcement)
      case .started: break
      case .approved, .failed, .expired, .canceled:
        if !verification.state.isLive, !hasEnded { announcements.append(announcement) }
        hasEnded = true
      }
    }
  }
}

/// Numbers of wrong codes.
struct WrongCodes: Sendable, Hashable {
  var real = 0
  var fictional = 0
}

/// Outcome of a proof, for the metrics.
struct ProofCount: Sendable, Hashable {
  var method: AppVerified.Method
  /// A word in lower case.
  var outcome: String

  init(_ method: AppVerified.Method, _ outcome: String) {
    self.method = method
    self.outcome = outcome
  }
}

/// A change of an operation, for the metrics.
struct OperationCount: Sendable, Hashable {
  var kind: OperationKind
  /// Its ending in capitals; `STARTED` at its beginning.
  var ending: String
}

/// Metrics of the conversion. Regions are a label, being few; prefixes are not.
struct ConversionMetrics: Sendable {
  /// The series of one region.
  struct Region: Sendable {
    let sent: Counter
    let verified: Counter
  }

  let blocks: MetricFamily<Gauge>
  let blocked: MetricFamily<Counter>
  private let sent: MetricFamily<Counter>
  private let verified: MetricFamily<Counter>

  init(_ registry: MetricsRegistry) {
    sent = registry.counter(
      "countersign_conversion_sent_total", "Verifications that ended after a message was sent, by region.",
      labels: ["region"])
    verified = registry.counter(
      "countersign_conversion_verified_total", "Those among them whose code came back, by region.", labels: ["region"])
    blocks = registry.gauge(
      "countersign_conversion_blocks", "Prefixes and regions that nothing is sent to, because too few codes came back.",
      labels: ["scope"])
    blocked = registry.counter(
      "countersign_conversion_blocked_total", "Prefixes and regions that were blocked.", labels: ["scope"])
  }

  /// - Parameter series: the series known so far; asking the family for each verification would be slower.
  func count(_ ending: ConversionEnding, _ series: inout [String: Region]) {
    let known: Region
    if let found = series[ending.region] {
      known = found
    } else {
      known = Region(sent: sent.with(ending.region), verified: verified.with(ending.region))
      if series.count < MetricsRegistry.maxSeries { series[ending.region] = known }
    }
    known.sent.increment()
    if ending.outcome == .verified { known.verified.increment() }
  }
}
