import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// An action has lists of ``Check``s: an SMS one of its own and one of its device, a check of a code several.
struct RateLimits: Sendable {
  struct Check: Sendable {
    let limit: Limit
    let counter: LimitCounter
    var isOfNetwork = false
    /// Approved codes, of which a share is allowed where that is more.
    var approved: LimitCounter?
  }

  let limits: Limits
  let subjects: LimitSubjects

  func addKeys(of checks: [Check], to keys: inout StoreKeys, at now: UnixTime) {
    for check in checks {
      check.counter.addKeys(to: &keys, at: now)
      check.approved?.addKeys(to: &keys, at: now)
    }
  }

  /// Counts one more against every limit, or against none when one of them is reached.
  func admit(_ checks: [Check], in set: inout WorkingSet) -> LimitRefusal? {
    if let refusal = refusal(checks, in: set) { return refusal }
    count(checks, in: &set)
    return nil
  }

  /// The reached limit that lasts longest. Counts nothing.
  func refusal(_ checks: [Check], in set: WorkingSet) -> LimitRefusal? {
    var refusal: LimitRefusal?
    for check in checks {
      let rule = rule(of: check, in: set)
      guard let wait = check.counter.window(in: set).wait(at: set.now, rule) else { continue }
      if wait > refusal?.wait ?? .zero {
        refusal = LimitRefusal(
          limit: check.limit, figure: rule.limit, wait: wait, isOfNetwork: check.isOfNetwork)
      }
    }
    return refusal
  }

  /// A figure of 0 refuses everything.
  private func rule(of check: Check, in set: WorkingSet) -> LimitRule {
    var rule = check.counter.rule
    guard let approved = check.approved, rule.limit > 0 else { return rule }
    let count = approved.window(in: set).count(at: set.now, approved.rule)
    rule.limit = max(rule.limit, count * limits.wrongCodesPercent / 100)
    return rule
  }

  /// Counts one more, whether or not a limit is reached.
  func count(_ checks: [Check], in set: inout WorkingSet) {
    for check in checks { check.counter.record(in: &set) }
  }
}

// MARK: Checks

extension RateLimits {
  func check(
    _ limit: Limit, _ subject: LimitSubject, figure: Int? = nil, isFirstHandle: Bool = true
  ) throws(StoreError) -> Check {
    let figure = figure ?? limits[limit]
    let rule = isFirstHandle ? limit.rule(figure) : limit.ruleOfLaterHandles(figure)
    var check = Check(limit: limit, counter: try LimitCounter(subject, rule))
    if limit.isShareOfApproved { check.approved = try LimitCounter(subject, Self.approved) }
    return check
  }

  func checks(
    _ limit: Limit, from address: ClientAddress?, isFirstHandle: Bool = true
  ) throws(StoreError) -> [Check] {
    guard let address else { return [] }
    var network = try check(
      limit, subjects.subject(.network, address.wideNetwork), figure: limits[limit] * limits.networkFactor,
      isFirstHandle: isFirstHandle)
    network.isOfNetwork = true
    return [
      try check(limit, subjects.subject(.address, address.network), isFirstHandle: isFirstHandle), network,
    ]
  }
}

// MARK: Erasure

extension RateLimits {
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
      try check(.sendsPerCountryPerDay, .region(send.region), figure: limits.budget(of: send.region)),
      try check(.sendsPerDay, .everybody),
    ] + checks(.sendsPerAddressPerHour, from: send.address)
  }

  func checks(ofDevice device: TokenHash?) throws(StoreError) -> [Check] {
    guard let device else { return [] }
    return [try check(.sendsPerDevicePerDay, subjects.device(device))]
  }

  private func number(_ send: LimitedSend) throws(StoreError) -> [Check] {
    let number = subjects.subject(.number, send.number)
    let day = try check(.sendsPerNumberPerDay, number)
    let limit = Limit.sendsPerNumberPer10Minutes
    let short = try LimitCounter(number, limit.rule(limits[limit]), within: day.counter.rule)
    return [Check(limit: limit, counter: short), day]
  }

  private func prefix(_ send: LimitedSend) throws(StoreError) -> [Check] {
    let prefix = subjects.subject(.prefix, send.prefix)
    let all = try check(.sendsPerPrefixPer10Minutes, prefix)
    guard send.isUnknownType else { return [all] }
    return [all, try check(.sendsToUnknownTypePerPrefixPer10Minutes, prefix)]
  }
}

struct LimitedSend: Sendable, Hashable {
  /// E.164.
  var number: String
  /// The region of the number, or its calling code if it has none.
  var region: String
  /// Whether the type of the number is unknown: possible, but not in the metadata.
  var isUnknownType: Bool
  var address: ClientAddress?

  /// The number without its last four digits: the shared part of an artificially inflated block of numbers.
  var prefix: String { Self.prefix(of: number) }

  static func prefix(of number: String) -> String { String(decoding: number.utf8.dropLast(4), as: UTF8.self) }
}

struct LimitedCheck: Sendable, Hashable {
  var app: String
  /// E.164.
  var number: String
  var address: ClientAddress?
  var isFictional: Bool
  /// Whether it uses the first handle of its code. Checks by later handles are counted separately, so that a stranger
  /// who requests a person's number cannot use up the checks that person needs.
  var isFirstHandle = true
  var isFirstCode: Bool
}

extension RateLimits {
  /// Approved codes of an app, and of all, within the last day.
  static let approved = LimitRule(sliding: "y", limit: .max, window: .seconds(86_400))

  /// Counts a check, and decides whether the code may be compared. Only a wrong code enters the budgets of wrong codes:
  /// see ``countWrong(_:in:)``.
  ///
  /// Exhausting the shared budgets must not lock everyone out: the first code of each verification is compared anyway.
  /// That leaves an attacker one guess for each sent SMS, instead of five.
  func admitCheck(_ check: LimitedCheck, in set: inout WorkingSet) throws(StoreError) -> LimitRefusal? {
    guard !check.isFictional else { return try refusal(ofFictional: check, in: set) }
    let shared = check.isFirstCode && check.isFirstHandle ? [] : try shared(check)
    if let refusal = refusal(try address(check) + shared, in: set) { return refusal }
    return admit(try number(check), in: &set)
  }

  /// Adds what ``admitCheck(_:in:)`` and then a right or a wrong code look up. Not for fictional numbers.
  func addKeys(of check: LimitedCheck, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    addKeys(of: try wrongCode(check) + number(check), to: &keys, at: now)
  }

  func countWrong(_ check: LimitedCheck, in set: inout WorkingSet) throws(StoreError) {
    guard !check.isFictional else { return try countWrong(fictional: check, in: &set) }
    count(try wrongCode(check), in: &set)
  }

  func countRight(_ check: LimitedCheck, in set: inout WorkingSet) throws(StoreError) {
    guard !check.isFictional else { return try countRight(fictional: check, in: &set) }
    for (_, subject) in sharedLimits(check.app) { try LimitCounter(subject, Self.approved).record(in: &set) }
  }

  /// Whether no code of an app but the first one of each verification is compared.
  func areWrongCodesUsedUp(of app: String, in set: WorkingSet) throws(StoreError) -> Bool {
    refusal(try shared(app), in: set) != nil
  }

  private func wrongCode(_ check: LimitedCheck) throws(StoreError) -> [Check] {
    try address(check) + shared(check)
  }

  private func number(_ check: LimitedCheck) throws(StoreError) -> [Check] {
    let number = subjects.subject(.number, check.number)
    return [try self.check(.checksPerNumberPerHour, number, isFirstHandle: check.isFirstHandle)]
  }

  private func address(_ check: LimitedCheck) throws(StoreError) -> [Check] {
    try checks(.wrongCodesPerAddressPerHour, from: check.address, isFirstHandle: check.isFirstHandle)
  }

  private func shared(_ check: LimitedCheck) throws(StoreError) -> [Check] {
    try shared(check.app, isFirstHandle: check.isFirstHandle)
  }

  private func shared(_ app: String, isFirstHandle: Bool = true) throws(StoreError) -> [Check] {
    try sharedLimits(app).map { limit, subject throws(StoreError) in
      try check(limit, subject, isFirstHandle: isFirstHandle)
    }
  }

  private func sharedLimits(_ app: String) -> [(Limit, LimitSubject)] {
    [(.wrongCodesPerAppPerDay, .app(app)), (.wrongCodesPerDay, .everybody)]
  }
}
