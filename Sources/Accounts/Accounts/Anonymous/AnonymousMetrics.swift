import CommandEngine
import CountersignTelemetry

struct AnonymousMetrics: Sendable {
  private static let made = "made"
  private static let madeBeyondBudget = "made_beyond_budget"

  private let signUps: MetricFamily<Counter>
  private let ended: Counter

  init(_ registry: MetricsRegistry) {
    signUps = registry.counter(
      "countersign_anonymous_sign_ups_total",
      "Anonymous accounts that were made, also beyond the budget of a day.",
      labels: ["outcome"])
    ended = registry.counter(
      "countersign_anonymous_accounts_ended_total", "Anonymous accounts that went with their last session.")
    // An alert must see the first.
    for outcome in [Self.made, Self.madeBeyondBudget] { _ = signUps.with(outcome) }
  }

  func countMade(isBeyondBudget: Bool, in set: inout WorkingSet) {
    let outcome = isBeyondBudget ? Self.madeBeyondBudget : Self.made
    set.afterCommit { [signUps] in signUps.with(outcome).increment() }
  }

  func countEnded(in set: inout WorkingSet) { set.afterCommit { [ended] in ended.increment() } }
}
