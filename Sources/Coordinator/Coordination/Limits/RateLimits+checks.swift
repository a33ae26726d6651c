import CommandEngine
import CountersignTelemetry

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
