import Telemetry

/// Where counts are kept while a batch is worked on.
protocol UsageStore {
  associatedtype Failure: Error
  /// The counts of a subject; empty when there are none.
  mutating func usage(of subject: String) throws(Failure) -> UsageRecord
  mutating func set(_ usage: UsageRecord, of subject: String)
}

/// Decides whether one more is allowed, and counts it.
struct LimitBook: Sendable {
  struct Check {
    var scope: LimitRefusal.Scope
    var subject: String
    var rule: LimitRule
  }

  let limits: Limits

  init(_ limits: Limits) {
    self.limits = limits
  }

  /// Counts a message against every limit that it falls under, or against none when one of them is reached.
  ///
  /// - Returns: the limit that lasts longest of those reached; `nil` when the message may go.
  func admit<Store: UsageStore>(
    _ send: LimitedSend, at now: UnixTime, in store: inout Store
  ) throws(Store.Failure) -> LimitRefusal? {
    try admit(checks(of: send), at: now, in: &store)
  }

  /// Counts a check of a code for a number.
  func admitCheck<Store: UsageStore>(
    ofNumber number: String, at now: UnixTime, in store: inout Store
  ) throws(Store.Failure) -> LimitRefusal? {
    let rule = LimitRule(sliding: .checks, limit: limits.checksPerNumberPerHour, window: .seconds(3600))
    return try admit([Check(scope: .checks, subject: Self.subject(number: number), rule: rule)], at: now, in: &store)
  }

  func admit<Store: UsageStore>(
    _ checks: [Check], at now: UnixTime, in store: inout Store
  ) throws(Store.Failure) -> LimitRefusal? {
    var refusal: LimitRefusal?
    for check in checks {
      guard let wait = try store.usage(of: check.subject).window(check.rule).wait(at: now, check.rule) else { continue }
      if wait > refusal?.wait ?? .zero {
        refusal = LimitRefusal(scope: check.scope, limit: check.rule.limit, wait: wait)
      }
    }
    guard refusal == nil else { return refusal }
    for check in checks {
      var usage = try store.usage(of: check.subject)
      usage.record(check.rule, at: now)
      store.set(usage, of: check.subject)
    }
    return nil
  }

  func checks(of send: LimitedSend) -> [Check] {
    let number = Self.subject(number: send.number)
    let prefix = "p\(send.prefix)"
    let tenMinutes = Duration.seconds(600)
    var checks = [
      Check(
        scope: .numberShort, subject: number,
        rule: LimitRule(sliding: .sendsShort, limit: limits.sendsPerNumberPer10Minutes, window: tenMinutes)),
      Check(
        scope: .numberDay, subject: number,
        rule: LimitRule(sliding: .sendsDay, limit: limits.sendsPerNumberPerDay, window: .seconds(86_400))),
      Check(
        scope: .prefix, subject: prefix,
        rule: LimitRule(sliding: .sendsShort, limit: limits.sendsPerPrefixPer10Minutes, window: tenMinutes)),
      Check(
        scope: .country, subject: "r\(send.region)",
        rule: LimitRule(daily: .sendsDay, limit: limits.budget(of: send.region))),
      Check(scope: .total, subject: "*", rule: LimitRule(daily: .sendsDay, limit: limits.sendsPerDay)),
    ]
    if send.isUnknownType {
      let limit = limits.sendsToUnknownTypePerPrefixPer10Minutes
      checks.append(
        Check(
          scope: .unknownType, subject: prefix,
          rule: LimitRule(sliding: .unknownType, limit: limit, window: tenMinutes)))
    }
    if let address = send.address {
      checks.append(
        Check(
          scope: .address, subject: "a\(address.network)",
          rule: LimitRule(sliding: .sendsShort, limit: limits.sendsPerAddressPerHour, window: .seconds(3600))))
    }
    return checks
  }

  private static func subject(number: String) -> String { "n\(number)" }
}
