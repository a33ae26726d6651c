import CountersignTelemetry

/// Storage of counts while a batch is processed.
protocol UsageStore {
  associatedtype Failure: Error
  /// The counts of a subject; empty when there are none.
  mutating func usage(of subject: LimitSubject) throws(Failure) -> UsageRecord
  mutating func set(_ usage: UsageRecord, of subject: LimitSubject)
}

/// Decides whether one more is allowed, and counts it.
struct LimitBook: Sendable {
  struct Check {
    var scope: LimitRefusal.Scope
    var subject: LimitSubject
    var rule: LimitRule
  }

  let limits: Limits
  let subjects: SubjectKeeper

  init(_ limits: Limits, subjects: SubjectKeeper) {
    self.limits = limits
    self.subjects = subjects
  }

  /// Counts an SMS against every limit that applies, or against none when one of them is reached.
  ///
  /// - Returns: the reached limit that lasts longest; `nil` when the SMS may go.
  func admit<Store: UsageStore>(
    _ send: LimitedSend, at now: UnixTime, in store: inout Store
  ) throws(Store.Failure) -> LimitRefusal? {
    try admit(checks(of: send), at: now, in: &store)
  }

  /// Counts one more against every limit, or against none when one of them is reached.
  func admit<Store: UsageStore>(
    _ checks: [Check], at now: UnixTime, in store: inout Store
  ) throws(Store.Failure) -> LimitRefusal? {
    if let refusal = try refusal(checks, at: now, in: &store) { return refusal }
    try count(checks, at: now, in: &store)
    return nil
  }

  /// The reached limit that lasts longest. Counts nothing.
  func refusal<Store: UsageStore>(
    _ checks: [Check], at now: UnixTime, in store: inout Store
  ) throws(Store.Failure) -> LimitRefusal? {
    var refusal: LimitRefusal?
    for check in checks {
      guard let wait = try store.usage(of: check.subject).window(check.rule).wait(at: now, check.rule) else { continue }
      if wait > refusal?.wait ?? .zero {
        refusal = LimitRefusal(scope: check.scope, limit: check.rule.limit, wait: wait)
      }
    }
    return refusal
  }

  /// Counts one more, whether or not a limit is reached.
  func count<Store: UsageStore>(
    _ checks: [Check], at now: UnixTime, in store: inout Store
  ) throws(Store.Failure) {
    for check in checks {
      var usage = try store.usage(of: check.subject)
      usage.record(check.rule, at: now)
      store.set(usage, of: check.subject)
    }
  }
}
