import CommandEngine
import CountersignMessages
import CountersignTelemetry

// MARK: Receipts

extension RateLimits {
  func addReceiptKeys(
    ofToken token: TokenHash, app: String, from address: ClientAddress?, to keys: inout StoreKeys, at now: UnixTime
  ) throws(StoreError) {
    addKeys(of: try receipt(token, app, address), to: &keys, at: now)
  }

  /// Counts a receipt for the device, the address, the app, and in total.
  func admitReceipt(
    ofToken token: TokenHash, app: String, from address: ClientAddress?, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    try admit(receipt(token, app, address), in: &set)
  }

  /// Takes a receipt out of the budgets of a day: the push was refused for its device token.
  func uncountReceipt(of app: String, issuedAt time: UnixTime, in set: inout WorkingSet) throws(StoreError) {
    for check in try receiptBudgets(app) { check.counter.uncount(at: time, in: &set) }
  }

  private func receiptBudgets(_ app: String) throws(StoreError) -> [Check] {
    [try check(.receiptsPerAppPerDay, .app(app)), try check(.receiptsPerDay, .everybody)]
  }

  private func receipt(_ token: TokenHash, _ app: String, _ address: ClientAddress?) throws(StoreError) -> [Check] {
    [try check(.receiptsPerDevicePerHour, subjects.device(token))]
      + (try checks(.proofsPerAddressPerHour, from: address)) + (try receiptBudgets(app))
  }
}

// MARK: Assessments

extension RateLimits {
  func addAssessmentKeys(
    app: String, from address: ClientAddress?, to keys: inout StoreKeys, at now: UnixTime
  ) throws(StoreError) {
    addKeys(of: try assessment(app, address), to: &keys, at: now)
  }

  /// Counts the assessment of a reCAPTCHA token for the address, the app, and in total.
  func admitAssessment(
    app: String, from address: ClientAddress?, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    try admit(assessment(app, address), in: &set)
  }

  private func assessment(_ app: String, _ address: ClientAddress?) throws(StoreError) -> [Check] {
    try checks(.proofsPerAddressPerHour, from: address) + [
      check(.assessmentsPerAppPerDay, .app(app)), check(.assessmentsPerDay, .everybody),
    ]
  }
}

// MARK: Revocations

extension RateLimits {
  func addRevocationKeys(
    app: String, noticeTo address: String?, to keys: inout StoreKeys, at now: UnixTime
  ) throws(StoreError) {
    addKeys(of: try revocation(app, noticeTo: address), to: &keys, at: now)
  }

  func admitRevocation(
    app: String, noticeTo address: String?, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    try admit(revocation(app, noticeTo: address), in: &set)
  }

  private func revocation(_ app: String, noticeTo address: String?) throws(StoreError) -> [Check] {
    let budgets = [try check(.revocationsPerAppPerDay, .app(app)), try check(.revocationsPerDay, .everybody)]
    guard let address else { return budgets }
    return budgets + [
      // Mail servers may distinguish case before the @; no large one does.
      try check(.noticesPerAddressPerDay, subjects.subject(.mailAddress, address.lowercased())),
      try check(.noticesPerAppPerDay, .app(app)),
    ]
  }
}
