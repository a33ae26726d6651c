import CountersignTelemetry

/// A code that somebody gives back, as the limits see it.
struct LimitedCheck: Sendable, Hashable {
  var app: String
  /// E.164.
  var number: String
  /// Address the code came from, if the caller says so.
  var address: ClientAddress?
  /// Whether the number is one of the app's fictional ones.
  var isFictional: Bool
  /// Whether it comes by the first handle of its code. Codes of later ones are counted apart, so that nobody who asks for somebody else's
  /// number can use up what lets that one give his code back.
  var isFirstHandle = true
  /// Whether no code was compared for the verification before.
  var isFirstCode: Bool
}

extension LimitBook {
  /// Counts a check, and says whether the code may be compared. Only what was compared and is wrong goes into the budgets of wrong codes:
  /// see ``countWrong(_:at:in:)``.
  ///
  /// The budgets of the app and in all are everybody's, so whoever uses them up must not lock everybody out: the first code that is given back
  /// for a verification is compared all the same. That leaves who guesses one try for each message that is sent, in place of five.
  func admitCheck<Store: UsageStore>(
    _ check: LimitedCheck, at now: UnixTime, in store: inout Store
  ) throws(Store.Failure) -> LimitRefusal? {
    guard !check.isFictional else { return try refusal(fictional(check), at: now, in: &store) }
    let shared = check.isFirstCode && check.isFirstHandle ? [] : shared(check)
    if let refusal = try refusal(address(check) + shared, at: now, in: &store) { return refusal }
    return try admit(number(check), at: now, in: &store)
  }

  /// Counts a code that was wrong.
  func countWrong<Store: UsageStore>(
    _ check: LimitedCheck, at now: UnixTime, in store: inout Store
  ) throws(Store.Failure) {
    try count(check.isFictional ? fictional(check) : address(check) + shared(check), at: now, in: &store)
  }

  private func number(_ check: LimitedCheck) -> [Check] {
    [
      Check(
        scope: .checks, subject: subjects.subject(.number, check.number),
        rule: LimitRule(
          sliding: check.isFirstHandle ? .checks : .laterChecks, limit: limits.checksPerNumberPerHour,
          window: Self.hour))
    ]
  }

  private func address(_ check: LimitedCheck) -> [Check] {
    guard let address = check.address else { return [] }
    return [
      Check(
        scope: .addressWrongCodes, subject: subjects.subject(.address, address.network),
        rule: wrongCodes(check, limits.wrongCodesPerAddressPerHour, Self.hour))
    ]
  }

  private func shared(_ check: LimitedCheck) -> [Check] {
    [
      Check(
        scope: .appWrongCodes, subject: .app(check.app),
        rule: wrongCodes(check, limits.wrongCodesPerAppPerDay, Self.day)),
      Check(
        scope: .totalWrongCodes, subject: .everybody, rule: wrongCodes(check, limits.wrongCodesPerDay, Self.day)),
    ]
  }

  private func wrongCodes(_ check: LimitedCheck, _ limit: Int, _ window: Duration) -> LimitRule {
    LimitRule(sliding: check.isFirstHandle ? .wrongCodes : .laterWrongCodes, limit: limit, window: window)
  }

  /// Tests run fictional numbers hundreds of times an hour, so only what is wrong counts.
  private func fictional(_ check: LimitedCheck) -> [Check] {
    let subject = subjects.fictional(check.number, of: check.app)
    return [
      Check(
        scope: .fictionalWrongCodes, subject: subject,
        rule: LimitRule(
          sliding: .wrongCodes, limit: limits.wrongCodesPerFictionalNumberPerHour, window: Self.hour)),
      Check(
        scope: .fictionalWrongCodesDay, subject: subject,
        rule: LimitRule(
          sliding: .wrongCodesDay, limit: limits.wrongCodesPerFictionalNumberPerDay, window: Self.day)),
    ]
  }
}
