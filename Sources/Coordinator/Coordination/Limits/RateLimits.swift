import CommandEngine
import CountersignTelemetry

/// Decides whether one more is allowed, and counts it.
///
/// Each action has one list of ``Check``s. It names the counters to load, before a batch, and decides and counts in it.
struct RateLimits: Sendable {
  struct Check {
    var scope: LimitRefusal.Scope
    var subject: LimitSubject
    var rule: LimitRule

    /// - Throws: ``StoreError`` when it cannot be named, which is the case for none.
    func counter() throws(StoreError) -> LimitCounter { try LimitCounter(subject, rule) }
  }

  let limits: Limits
  let subjects: LimitSubjects

  init(_ limits: Limits, subjects: LimitSubjects) {
    self.limits = limits
    self.subjects = subjects
  }

  /// Adds the counters of some limits.
  func addKeys(of checks: [Check], to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    for check in checks { try check.counter().addKeys(to: &keys, at: now) }
  }

  /// Counts one more against every limit, or against none when one of them is reached.
  func admit(_ checks: [Check], in set: inout WorkingSet) throws(StoreError) -> LimitRefusal? {
    if let refusal = try refusal(checks, in: set) { return refusal }
    try count(checks, in: &set)
    return nil
  }

  /// The reached limit that lasts longest. Counts nothing.
  func refusal(_ checks: [Check], in set: WorkingSet) throws(StoreError) -> LimitRefusal? {
    var refusal: LimitRefusal?
    for check in checks {
      guard let wait = try check.counter().window(in: set).wait(at: set.now, check.rule) else { continue }
      if wait > refusal?.wait ?? .zero {
        refusal = LimitRefusal(scope: check.scope, limit: check.rule.limit, wait: wait)
      }
    }
    return refusal
  }

  /// Counts one more, whether or not a limit is reached.
  func count(_ checks: [Check], in set: inout WorkingSet) throws(StoreError) {
    for check in checks { try check.counter().record(at: set.now, in: &set) }
  }
}

// MARK: Erasure

extension RateLimits {
  /// Adds all counters of subjects.
  func addKeys(ofAll subjects: [LimitSubject], to keys: inout StoreKeys) throws(StoreError) {
    for subject in subjects { try subject.addKeys(to: &keys) }
  }

  /// Deletes everything that was counted for subjects.
  /// - Returns: the number of names under which something was counted.
  func forget(_ subjects: [LimitSubject], in set: inout WorkingSet) throws(StoreError) -> Int {
    var count = 0
    for subject in subjects { count += try subject.forget(in: &set) }
    return count
  }
}

// MARK: SMS

extension RateLimits {
  /// Adds the counters of an SMS.
  func addKeys(of send: LimitedSend, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try addKeys(of: checks(of: send), to: &keys, at: now)
  }

  /// Counts an SMS against every limit that applies, or against none when one of them is reached.
  ///
  /// - Returns: the reached limit that lasts longest; `nil` when the SMS may go.
  func admit(_ send: LimitedSend, in set: inout WorkingSet) throws(StoreError) -> LimitRefusal? {
    try admit(checks(of: send), in: &set)
  }

  /// The limit that an SMS would exceed, without counting it: a request that will be refused spends nothing.
  func refusal(of send: LimitedSend, in set: WorkingSet) throws(StoreError) -> LimitRefusal? {
    try refusal(checks(of: send), in: set)
  }

  private func checks(of send: LimitedSend) -> [Check] {
    number(send) + prefix(send)
      + [
        Check(
          scope: .country, subject: .region(send.region),
          rule: LimitRule(daily: .sendsDay, limit: limits.budget(of: send.region))),
        Check(scope: .total, subject: .everybody, rule: LimitRule(daily: .sendsDay, limit: limits.sendsPerDay)),
      ] + asker(send)
  }

  private func number(_ send: LimitedSend) -> [Check] {
    let number = subjects.subject(.number, send.number)
    return [
      Check(
        scope: .numberShort, subject: number,
        rule: LimitRule(sliding: .sendsShort, limit: limits.sendsPerNumberPer10Minutes, window: Self.tenMinutes)),
      Check(
        scope: .numberDay, subject: number,
        rule: LimitRule(sliding: .sendsDay, limit: limits.sendsPerNumberPerDay, window: Self.day)),
    ]
  }

  private func prefix(_ send: LimitedSend) -> [Check] {
    let prefix = subjects.subject(.prefix, send.prefix)
    var checks = [
      Check(
        scope: .prefix, subject: prefix,
        rule: LimitRule(sliding: .sendsShort, limit: limits.sendsPerPrefixPer10Minutes, window: Self.tenMinutes))
    ]
    if send.isUnknownType {
      let limit = limits.sendsToUnknownTypePerPrefixPer10Minutes
      checks.append(
        Check(
          scope: .unknownType, subject: prefix,
          rule: LimitRule(sliding: .unknownType, limit: limit, window: Self.tenMinutes)))
    }
    return checks
  }

  private func asker(_ send: LimitedSend) -> [Check] {
    var checks: [Check] = []
    if let address = send.address {
      checks.append(
        Check(
          scope: .address, subject: subjects.subject(.address, address.network),
          rule: LimitRule(sliding: .sendsShort, limit: limits.sendsPerAddressPerHour, window: Self.hour)))
    }
    if let device = send.device {
      checks.append(
        Check(
          scope: .deviceSends, subject: subjects.device(device),
          rule: LimitRule(sliding: .sendsDay, limit: limits.sendsPerDevicePerDay, window: Self.day)))
    }
    return checks
  }

  static let tenMinutes = Duration.seconds(600)
  static let hour = Duration.seconds(3600)
  static let day = Duration.seconds(86_400)
}

/// A requested SMS, as the limits see it.
struct LimitedSend: Sendable, Hashable {
  /// E.164.
  var number: String
  /// The region of the number, or its calling code if it has none.
  var region: String
  /// Whether the type of the number is unknown: possible, but not in the metadata.
  var isUnknownType: Bool
  /// Address of the client, if the service states it.
  var address: ClientAddress?
  /// The device that proved its app, if any.
  var device: TokenHash?

  /// The number without its last four digits: the shared part of an artificially inflated block of numbers.
  var prefix: String { Self.prefix(of: number) }

  /// The prefix of a number.
  static func prefix(of number: String) -> String { String(number.dropLast(4)) }
}
