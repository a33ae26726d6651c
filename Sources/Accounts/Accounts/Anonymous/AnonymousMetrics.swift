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
      "Anonymous accounts that were made, also beyond the budget of a day, and refused ones by the limit.",
      labels: ["outcome"])
    ended = registry.counter(
      "countersign_anonymous_accounts_ended_total", "Anonymous accounts that went with their last session.")
    // An alert must see the first.
    for outcome in [Self.made, Self.madeBeyondBudget] + SignUpRefusal.Limit.allCases.map(Self.refused) {
      _ = signUps.with(outcome)
    }
  }

  private static func refused(_ limit: SignUpRefusal.Limit) -> String { "refused_\(limit.rawValue)" }

  func countMade(isBeyondBudget: Bool, in set: inout WorkingSet) {
    count(isBeyondBudget ? Self.madeBeyondBudget : Self.made, in: &set)
  }

  func count(_ refusal: SignUpRefusal, in set: inout WorkingSet) { count(Self.refused(refusal.limit), in: &set) }

  private func count(_ outcome: String, in set: inout WorkingSet) {
    set.afterCommit { [signUps] in signUps.with(outcome).increment() }
  }

  func countEnded(in set: inout WorkingSet) { set.afterCommit { [ended] in ended.increment() } }
}
