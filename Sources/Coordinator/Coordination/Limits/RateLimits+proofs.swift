import CommandEngine
import CountersignTelemetry

// MARK: Receipts

extension RateLimits {
  /// Adds the counters of a receipt.
  func addReceiptKeys(
    ofToken token: TokenHash, app: String, from address: ClientAddress?, to keys: inout StoreKeys, at now: UnixTime
  ) throws(StoreError) {
    try addKeys(of: receipt(token, app, address), to: &keys, at: now)
  }

  /// Counts a receipt for the device, the address, the app, and in total.
  func admitReceipt(
    ofToken token: TokenHash, app: String, from address: ClientAddress?, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    try admit(receipt(token, app, address), in: &set)
  }

  private func receipt(_ token: TokenHash, _ app: String, _ address: ClientAddress?) -> [Check] {
    let device = Check(
      scope: .deviceToken, subject: subjects.device(token),
      rule: LimitRule(sliding: .proofs, limit: limits.receiptsPerDevicePerHour, window: Self.hour))
    let budgets = [
      Check(
        scope: .appReceipts, subject: .app(app),
        rule: LimitRule(daily: .receiptsDay, limit: limits.receiptsPerAppPerDay)),
      Check(
        scope: .totalReceipts, subject: .everybody,
        rule: LimitRule(daily: .receiptsDay, limit: limits.receiptsPerDay)),
    ]
    return [device] + proofs(from: address) + budgets
  }

  private func proofs(from address: ClientAddress?) -> [Check] {
    guard let address else { return [] }
    let rule = LimitRule(sliding: .proofs, limit: limits.proofsPerAddressPerHour, window: Self.hour)
    return [
      Check(scope: .addressProofs, subject: subjects.subject(.address, address.network), rule: rule)
    ]
  }
}

// MARK: Assessments

extension RateLimits {
  /// Adds the counters of an assessment.
  func addAssessmentKeys(
    app: String, from address: ClientAddress?, to keys: inout StoreKeys, at now: UnixTime
  ) throws(StoreError) {
    try addKeys(of: assessment(app, address), to: &keys, at: now)
  }

  /// Counts the assessment of a reCAPTCHA token for the address, the app, and in total.
  func admitAssessment(
    app: String, from address: ClientAddress?, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    try admit(assessment(app, address), in: &set)
  }

  private func assessment(_ app: String, _ address: ClientAddress?) -> [Check] {
    proofs(from: address) + [
      Check(
        scope: .appAssessments, subject: .app(app),
        rule: LimitRule(daily: .assessmentsDay, limit: limits.assessmentsPerAppPerDay)),
      Check(
        scope: .totalAssessments, subject: .everybody,
        rule: LimitRule(daily: .assessmentsDay, limit: limits.assessmentsPerDay)),
    ]
  }
}

// MARK: Revocations

extension RateLimits {
  /// Adds the counters of a revocation and its notice.
  /// - Parameter address: recipient of the notice, if one is requested.
  func addRevocationKeys(
    app: String, noticeTo address: String?, to keys: inout StoreKeys, at now: UnixTime
  ) throws(StoreError) {
    try addKeys(of: revocation(app, noticeTo: address), to: &keys, at: now)
  }

  /// Counts a revocation and its notice by mail.
  /// - Parameter address: recipient of the notice, if one is requested.
  func admitRevocation(
    app: String, noticeTo address: String?, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    try admit(revocation(app, noticeTo: address), in: &set)
  }

  private func revocation(_ app: String, noticeTo address: String?) -> [Check] {
    let budgets = [
      Check(
        scope: .appRevocations, subject: .app(app),
        rule: LimitRule(daily: .revocationsDay, limit: limits.revocationsPerAppPerDay)),
      Check(
        scope: .totalRevocations, subject: .everybody,
        rule: LimitRule(daily: .revocationsDay, limit: limits.revocationsPerDay)),
    ]
    return budgets + notices(to: address, of: app)
  }

  private func notices(to address: String?, of app: String) -> [Check] {
    guard let address else { return [] }
    return [
      Check(
        // Mail servers may distinguish case before the @; no large one does.
        scope: .noticeAddress, subject: subjects.subject(.mailAddress, address.lowercased()),
        rule: LimitRule(sliding: .noticesDay, limit: limits.noticesPerAddressPerDay, window: Self.day)),
      Check(
        scope: .appNotices, subject: .app(app),
        rule: LimitRule(daily: .noticesDay, limit: limits.noticesPerAppPerDay)),
    ]
  }
}
