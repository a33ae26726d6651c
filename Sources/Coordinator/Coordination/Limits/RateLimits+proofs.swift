import CommandEngine
import CountersignMessages
import CountersignTelemetry

// MARK: Receipts

extension RateLimits {
  func checks(
    ofReceiptFor token: TokenHash, app: String, from address: ClientAddress?
  ) throws(StoreError) -> [Check] {
    [try check(.receiptsPerDevicePerHour, subjects.device(token))]
      + (try checks(.proofsPerAddressPerHour, from: address)) + (try receiptBudgets(app))
  }

  /// Takes a receipt out of the budgets of a day: the push was refused for its device token.
  func uncountReceipt(of app: String, issuedAt time: UnixTime, in set: inout WorkingSet) throws(StoreError) {
    for check in try receiptBudgets(app) { check.counter.uncount(at: time, in: &set) }
  }

  private func receiptBudgets(_ app: String) throws(StoreError) -> [Check] {
    [try check(.receiptsPerAppPerDay, .app(app)), try check(.receiptsPerDay, .everybody)]
  }
}

// MARK: Assessments

extension RateLimits {
  func checks(ofAssessmentFor app: String, from address: ClientAddress?) throws(StoreError) -> [Check] {
    try checks(.proofsPerAddressPerHour, from: address) + [
      check(.assessmentsPerAppPerDay, .app(app)), check(.assessmentsPerDay, .everybody),
    ]
  }
}

// MARK: Revocations

extension RateLimits {
  func admitRevocation(
    app: String, noticeTo address: String?, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    admit(try revocation(app, noticeTo: address), in: &set)
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
