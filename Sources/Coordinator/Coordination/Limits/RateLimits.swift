import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Decides whether one more is allowed, and counts it.
///
/// An action has lists of ``Check``s: an SMS one of its own and one of its device, a check of a code several. A list is
/// made by the same function for naming the counters to load, before a batch, and for deciding and counting in it.
struct RateLimits: Sendable {
  struct Check: Sendable {
    let scope: LimitRefusal.Scope
    let counter: LimitCounter

    /// - Throws: ``StoreError`` when its counter cannot be named, which is the case for none.
    init(
      scope: LimitRefusal.Scope, subject: LimitSubject, rule: LimitRule, within longer: LimitRule? = nil
    ) throws(StoreError) {
      self.scope = scope
      counter = try LimitCounter(subject, rule, within: longer)
    }
  }

  let limits: Limits
  let subjects: LimitSubjects

  init(_ limits: Limits, subjects: LimitSubjects) {
    self.limits = limits
    self.subjects = subjects
  }

  /// Adds the counters of some limits.
  func addKeys(of checks: [Check], to keys: inout StoreKeys, at now: UnixTime) {
    for check in checks { check.counter.addKeys(to: &keys, at: now) }
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
      let rule = check.counter.rule
      guard let wait = try check.counter.window(in: set).wait(at: set.now, rule) else { continue }
      if wait > refusal?.wait ?? .zero {
        refusal = LimitRefusal(scope: check.scope, limit: rule.limit, wait: wait)
      }
    }
    return refusal
  }

  /// Counts one more, whether or not a limit is reached.
  func count(_ checks: [Check], in set: inout WorkingSet) throws(StoreError) {
    for check in checks { try check.counter.record(at: set.now, in: &set) }
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
  /// The limits of an SMS, the device's apart. Their names cost several hashes, so a start keeps them.
  func checks(of send: LimitedSend) throws(StoreError) -> [Check] {
    try number(send) + prefix(send) + [
      try Check(
        scope: .country, subject: .region(send.region),
        rule: LimitRule(daily: .sendsDay, limit: limits.budget(of: send.region))),
      try Check(scope: .total, subject: .everybody, rule: LimitRule(daily: .sendsDay, limit: limits.sendsPerDay)),
    ] + address(send)
  }

  /// The limit of the device that proved its app.
  func checks(ofDevice device: TokenHash?) throws(StoreError) -> [Check] {
    guard let device else { return [] }
    return [
      try Check(
        scope: .deviceSends, subject: subjects.device(device),
        rule: LimitRule(sliding: .sendsDay, limit: limits.sendsPerDevicePerDay, window: Self.day))
    ]
  }

  private func number(_ send: LimitedSend) throws(StoreError) -> [Check] {
    let number = subjects.subject(.number, send.number)
    let short = LimitRule(sliding: .sendsShort, limit: limits.sendsPerNumberPer10Minutes, window: Self.tenMinutes)
    let day = LimitRule(sliding: .sendsDay, limit: limits.sendsPerNumberPerDay, window: Self.day)
    return [
      try Check(scope: .numberShort, subject: number, rule: short, within: day),
      try Check(scope: .numberDay, subject: number, rule: day),
    ]
  }

  private func prefix(_ send: LimitedSend) throws(StoreError) -> [Check] {
    let prefix = subjects.subject(.prefix, send.prefix)
    var checks = [
      try Check(
        scope: .prefix, subject: prefix,
        rule: LimitRule(sliding: .sendsShort, limit: limits.sendsPerPrefixPer10Minutes, window: Self.tenMinutes))
    ]
    if send.isUnknownType {
      let limit = limits.sendsToUnknownTypePerPrefixPer10Minutes
      try checks.append(
        Check(
          scope: .unknownType, subject: prefix,
          rule: LimitRule(sliding: .unknownType, limit: limit, window: Self.tenMinutes)))
    }
    return checks
  }

  private func address(_ send: LimitedSend) throws(StoreError) -> [Check] {
    guard let address = send.address else { return [] }
    return [
      try Check(
        scope: .address, subject: subjects.subject(.address, address.network),
        rule: LimitRule(sliding: .sendsShort, limit: limits.sendsPerAddressPerHour, window: Self.hour))
    ]
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

  /// The number without its last four digits: the shared part of an artificially inflated block of numbers.
  var prefix: String { Self.prefix(of: number) }

  /// The prefix of a number.
  static func prefix(of number: String) -> String { String(decoding: number.utf8.dropLast(4), as: UTF8.self) }
}

/// A check of a code, as the limits see it.
struct LimitedCheck: Sendable, Hashable {
  var app: String
  /// E.164.
  var number: String
  /// Address of the client, if the service states it.
  var address: ClientAddress?
  /// Whether the number is one of the app's fictional ones.
  var isFictional: Bool
  /// Whether it uses the first handle of its code. Checks by later handles are counted separately, so that a stranger
  /// who requests a person's number cannot use up the checks that person needs.
  var isFirstHandle = true
  /// Whether no code has been compared for the verification yet.
  var isFirstCode: Bool
}

extension RateLimits {
  /// Adds the counters of a check and of a wrong code, also of one that is not the first: an earlier command of the
  /// same batch may have been.
  func addKeys(of check: LimitedCheck, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    addKeys(of: try wrongCode(check), to: &keys, at: now)
    if !check.isFictional { addKeys(of: try number(check), to: &keys, at: now) }
  }

  /// Counts a check, and decides whether the code may be compared. Only a code that was compared and is wrong enters
  /// the budgets of wrong codes: see ``countWrong(_:in:)``.
  ///
  /// The budgets of the app and in total are shared, so exhausting them must not lock everyone out: the first code for
  /// a verification is compared all the same. That leaves an attacker one guess for each sent SMS, instead of five.
  func admitCheck(_ check: LimitedCheck, in set: inout WorkingSet) throws(StoreError) -> LimitRefusal? {
    guard !check.isFictional else { return try refusal(fictional(check), in: set) }
    let shared = check.isFirstCode && check.isFirstHandle ? [] : try shared(check)
    if let refusal = try refusal(address(check) + shared, in: set) { return refusal }
    return try admit(number(check), in: &set)
  }

  /// Counts a wrong code.
  func countWrong(_ check: LimitedCheck, in set: inout WorkingSet) throws(StoreError) {
    try count(wrongCode(check), in: &set)
  }

  /// The budgets of wrong codes.
  private func wrongCode(_ check: LimitedCheck) throws(StoreError) -> [Check] {
    try check.isFictional ? fictional(check) : address(check) + shared(check)
  }

  private func number(_ check: LimitedCheck) throws(StoreError) -> [Check] {
    [
      try Check(
        scope: .checks, subject: subjects.subject(.number, check.number),
        rule: LimitRule(
          sliding: check.isFirstHandle ? .checks : .laterChecks, limit: limits.checksPerNumberPerHour,
          window: Self.hour))
    ]
  }

  private func address(_ check: LimitedCheck) throws(StoreError) -> [Check] {
    guard let address = check.address else { return [] }
    return [
      try Check(
        scope: .addressWrongCodes, subject: subjects.subject(.address, address.network),
        rule: wrongCodes(check, limits.wrongCodesPerAddressPerHour, Self.hour))
    ]
  }

  private func shared(_ check: LimitedCheck) throws(StoreError) -> [Check] {
    [
      try Check(
        scope: .appWrongCodes, subject: .app(check.app),
        rule: wrongCodes(check, limits.wrongCodesPerAppPerDay, Self.day)),
      try Check(
        scope: .totalWrongCodes, subject: .everybody, rule: wrongCodes(check, limits.wrongCodesPerDay, Self.day)),
    ]
  }

  private func wrongCodes(_ check: LimitedCheck, _ limit: Int, _ window: Duration) -> LimitRule {
    LimitRule(sliding: check.isFirstHandle ? .wrongCodes : .laterWrongCodes, limit: limit, window: window)
  }

  /// Tests run fictional numbers hundreds of times an hour, so only wrong codes count.
  private func fictional(_ check: LimitedCheck) throws(StoreError) -> [Check] {
    let subject = subjects.fictional(check.number, of: check.app)
    return [
      try Check(
        scope: .fictionalWrongCodes, subject: subject,
        rule: LimitRule(
          sliding: .wrongCodes, limit: limits.wrongCodesPerFictionalNumberPerHour, window: Self.hour)),
      try Check(
        scope: .fictionalWrongCodesDay, subject: subject,
        rule: LimitRule(
          sliding: .wrongCodesDay, limit: limits.wrongCodesPerFictionalNumberPerDay, window: Self.day)),
    ]
  }
}
