import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Whom a command is counted for.
struct LimitSubject: Sendable, Hashable {
  var project: String
  var address: ClientAddress?
  /// As keys of accounts have it, whether an account has it or not.
  var mailAddress: String?
  /// ID of its record.
  var account: String?
  /// Account and enrollment.
  var secondFactor: String?

  func parts(_ parts: [Limit.Part]) -> [String] {
    [project]
      + parts.map { part in
        switch part {
        case .address: address?.network ?? ""
        case .network: address?.wideNetwork ?? ""
        case .mailAddress: mailAddress ?? ""
        case .account: account ?? ""
        case .secondFactor: secondFactor ?? ""
        }
      }
  }
}

/// The limits of an action with their counters. Nothing is counted unless it is asked to.
struct LimitBench: Sendable {
  private struct Row: Sendable {
    let limit: Limit
    let figure: Int
    let counter: SlotCounter
  }

  private let rows: [Row]

  init(_ limits: [Limit], of subject: LimitSubject, _ figures: Limits, _ hashes: AccountHashes) {
    rows = limits.map { limit in
      Row(limit: limit, figure: figures[limit], counter: .hour(limit, of: subject, hashes))
    }
  }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    for row in rows { try row.counter.addKeys(to: &keys, at: now) }
  }

  /// The reached limit that lasts longest. A limit counts as not reached while its counter is not loaded.
  func refusal(in set: WorkingSet) throws(StoreError) -> LimitRefusal? {
    var refusal: LimitRefusal?
    for row in rows {
      guard let wait = try row.counter.wait(limit: row.figure, in: set) else { continue }
      if wait > refusal?.wait ?? .zero { refusal = LimitRefusal(limit: row.limit, wait: wait) }
    }
    return refusal
  }

  func count(in set: inout WorkingSet) throws(StoreError) {
    for row in rows { try row.counter.count(in: &set) }
  }
}

struct LimitRefusal: Sendable, Hashable {
  let limit: Limit
  let wait: Duration
}

extension APIError {
  init(_ refusal: LimitRefusal) {
    let seconds = Int(clamping: max(1, (refusal.wait.wholeMilliseconds + 999) / 1000))
    self.init(
      .tooManyAttempts, refusal.limit.text, field: refusal.limit.field, retryAfter: seconds,
      reason: refusal.limit.reason)
  }
}

struct LimitMetrics: Sendable {
  private let refusals: MetricFamily<Counter>

  init(_ registry: MetricsRegistry) {
    refusals = registry.counter(
      "countersign_account_limit_refusals_total", "Commands that a limit of accounts refused.", labels: ["limit"])
    // An alert must see the first.
    for limit in Limit.all { _ = refusals.with(limit.label) }
  }

  func count(_ refusal: LimitRefusal, in set: inout WorkingSet) {
    set.afterCommit { [refusals] in refusals.with(refusal.limit.label).increment() }
  }
}

extension CommandReader {
  func limits(_ limits: [Limit], of subject: LimitSubject) -> LimitBench {
    LimitBench(limits, of: subject, rules.limits, hashes)
  }

  func wrongPasswords(of subject: LimitSubject) -> WrongPasswords {
    WrongPasswords(of: subject, rules.limits, hashes)
  }

  /// Answers a command that a limit refuses.
  func refuse(_ refusal: LimitRefusal, in set: inout WorkingSet) -> CommandAnswer {
    limitMetrics.count(refusal, in: &set)
    return CommandAnswer(APIError(refusal))
  }
}
