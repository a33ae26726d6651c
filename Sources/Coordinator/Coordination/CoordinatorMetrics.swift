import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// The share of codes that came back is `countersign_conversion_verified_total` over
/// `countersign_conversion_sent_total`.
struct CoordinatorMetrics: Sendable {
  let liveVerifications: Gauge
  let conversion: ConversionMetrics
  private let verifications: MetricFamily<Counter>
  private let limited: MetricFamily<Counter>
  private let wrongCodes: MetricFamily<Counter>
  private let lostCodes: MetricFamily<Counter>
  private let reports: MetricFamily<Counter>
  private let proofs: MetricFamily<Counter>
  private let operations: MetricFamily<Counter>

  init(_ registry: MetricsRegistry) {
    conversion = ConversionMetrics(registry)
    liveVerifications = registry.gauge(
      "countersign_verifications_live", "Verifications whose code can still be checked.")
    verifications = registry.counter(
      "countersign_verifications_total",
      "Verifications that were started, sent, delivered, undelivered, approved, failed, expired or canceled.",
      labels: ["event"])
    limited = registry.counter(
      "countersign_limited_total", "Refusals by the limit that was reached.", labels: ["limit"])
    wrongCodes = registry.counter(
      "countersign_wrong_codes_total", "Codes that were compared and were wrong, of real and of fictional numbers.",
      labels: ["number"])
    lostCodes = registry.counter(
      "countersign_codes_lost_total",
      "Codes that can be neither compared nor sent again, because their pepper or fixed code is no longer configured.",
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

  /// Makes the series that alerts watch before their first event: `increase()` of Prometheus takes the first value of a
  /// series for its beginning and so misses what a series begins with. Without a series of approvals no share of codes
  /// would be too low.
  private func beginAtZero() {
    for event in VerificationAction.Announcement.allCases { _ = verifications.with(event.rawValue) }
    for limit in Limit.refusing { _ = limited.with(limit.label) }
    for number in [Self.realNumber, Self.fictionalNumber] {
      _ = wrongCodes.with(number)
      _ = lostCodes.with(number)
    }
  }

  /// Values of the label `number`.
  private static let realNumber = "real"
  private static let fictionalNumber = "fictional"

  /// Counts the announcements of a verification: once, however many handles its code has. Events of single handles are
  /// not counted while the code stays valid.
  func count(_ actions: [VerificationAction], on verification: PhoneVerification) {
    var hasEnded = false
    for case .announce(let announcement, to: let handle) in actions {
      switch announcement {
      case .sent, .delivered, .undelivered: count(announcement)
      case .started where handle == PhoneVerification.firstHandle && verification.handles.isEmpty: count(announcement)
      case .started: break
      case .approved, .failed, .expired, .canceled:
        if !verification.state.isLive, !hasEnded { count(announcement) }
        hasEnded = true
      }
    }
  }

  private func count(_ announcement: VerificationAction.Announcement) {
    verifications.with(announcement.rawValue).increment()
    liveVerifications.add(announcement.changeOfLive)
  }

  func count(_ refusal: LimitRefusal, in set: inout WorkingSet) {
    set.afterCommit { [limited] in limited.with(refusal.limit.label).increment() }
  }

  func countWrongCode(isFictional: Bool) {
    wrongCodes.with(isFictional ? Self.fictionalNumber : Self.realNumber).increment()
  }

  func countLostCode(isFictional: Bool) {
    lostCodes.with(isFictional ? Self.fictionalNumber : Self.realNumber).increment()
  }

  func countReport(_ outcome: JobReport.Outcome) { reports.with(outcome.rawValue).increment() }

  func countProof(_ method: AppVerified.Method, _ outcome: String, in set: inout WorkingSet) {
    set.afterCommit { [proofs] in proofs.with(method.rawValue, outcome).increment() }
  }

  func countRevocation(_ ending: String, in set: inout WorkingSet) {
    set.afterCommit { [operations] in operations.with(OperationKind.appleRevocation.rawValue, ending).increment() }
  }
}

extension VerificationAction.Announcement {
  fileprivate var changeOfLive: Double {
    switch self {
    case .started: 1
    case .sent, .delivered, .undelivered: 0
    case .approved, .failed, .expired, .canceled: -1
    }
  }
}

/// Regions are a label, being few. Prefixes are not.
struct ConversionMetrics: Sendable {
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
