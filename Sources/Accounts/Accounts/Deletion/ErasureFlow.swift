import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Erasure of what other processes know about deleted accounts.
struct ErasureFlow: Flow {
  private let eraser: Eraser

  init(_ parts: AccountParts) {
    eraser = parts.deletion.eraser
  }

  var reports: [ReportKind] {
    [ErasureReply.kind(NumberForgotten.type, eraser), ErasureReply.kind(ErrorReply.type, eraser)]
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(Erasure.kind, part: MaintenancePart(rawValue: "erase_accounts")) {
        [eraser] record, set throws(StoreError) in
        try eraser.becameDue(record, in: &set)
      }
    ]
  }
}

/// Metrics and log of erasures.
struct ErasureMetrics: Sendable {
  enum Outcome: String, CaseIterable {
    /// Nothing is left, as far as others were asked.
    case erased
    /// The coordinator refused once: it is asked again.
    case refused
    /// It did so for a week.
    case kept
  }

  private let outcomes: MetricFamily<Counter>
  private let logger: Logger

  init(_ registry: MetricsRegistry, logger: Logger) {
    self.logger = logger
    outcomes = registry.counter(
      "countersign_account_erasures_total",
      "Erasures after deletions that ended, and requests to forget a number that the coordinator refused.",
      labels: ["outcome"])
    // An alert must see the first.
    for outcome in Outcome.allCases { _ = outcomes.with(outcome.rawValue) }
  }

  func count(_ outcome: Outcome, in set: inout WorkingSet) {
    set.afterCommit { [outcomes] in outcomes.with(outcome.rawValue).increment() }
  }

  func count(_ refusal: APIError, in set: inout WorkingSet) {
    count(.refused, in: &set)
    set.afterCommit { [logger] in
      logger.warning(
        "the coordinator does not forget the number of a deleted account, and is asked again",
        [.reason: refusal.reason ?? refusal.code.rawValue])
    }
  }
}
