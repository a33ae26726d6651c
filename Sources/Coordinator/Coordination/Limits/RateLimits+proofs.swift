import CommandEngine
import CountersignMessages
import CountersignTelemetry

// MARK: Receipts

extension RateLimits {
  /// Adds the counters of a receipt.
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

  private func receipt(_ token: TokenHash, _ app: String, _ address: ClientAddress?) throws(StoreError) -> [Check] {
    let device = try Check(
      scope: .deviceToken, subject: subjects.device(token),
      rule: LimitRule(sliding: .proofs, limit: limits.receiptsPerDevicePerHour, window: Self.hour))
    let budgets = [
      try Check(
        scope: .appReceipts, subject: .app(app),
        rule: LimitRule(daily: .receiptsDay, limit: limits.receiptsPerAppPerDay)),
      try Check(
        scope: .totalReceipts, subject: .everybody,
        rule: LimitRule(daily: .receiptsDay, limit: limits.receiptsPerDay)),
    ]
    return try [device] + proofs(from: address) + budgets
  }

  private func proofs(from address: ClientAddress?) throws(StoreError) -> [Check] {
    guard let address else { return [] }
    let rule = LimitRule(sliding: .proofs, limit: limits.proofsPerAddressPerHour, window: Self.hour)
    return [
      try Check(scope: .addressProofs, subject: subjects.subject(.address, address.network), rule: rule)
    ]
  }
}

// MARK: Assessments

extension RateLimits {
  /// Adds the counters of an assessment.
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
    try proofs(from: address) + [
      Check(
        scope: .appAssessments, subject: .app(app),
        rule: LimitRule(daily: .assessmentsDay, limit: limits.assessmentsPerAppPerDay)),
      try Check(
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
    addKeys(of: try revocation(app, noticeTo: address), to: &keys, at: now)
  }

  /// Counts a revocation and its notice by mail.
  /// - Parameter address: recipient of the notice, if one is requested.
  func admitRevocation(
    app: String, noticeTo address: String?, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    try admit(revocation(app, noticeTo: address), in: &set)
  }

  private func revocation(_ app: String, noticeTo address: String?) throws(StoreError) -> [Check] {
    let budgets = [
      try Check(
        scope: .appRevocations, subject: .app(app),
        rule: LimitRule(daily: .revocationsDay, limit: limits.revocationsPerAppPerDay)),
      try Check(
        scope: .totalRevocations, subject: .everybody,
        rule: LimitRule(daily: .revocationsDay, limit: limits.revocationsPerDay)),
    ]
    return try budgets + notices(to: address, of: app)
  }

  private func notices(to address: String?, of app: String) throws(StoreError) -> [Check] {
    guard let address else { return [] }
    return [
      try Check(
        // Mail servers may distinguish case before the @; no large one does.
        scope: .noticeAddress, subject: subjects.subject(.mailAddress, address.lowercased()),
        rule: LimitRule(sliding: .noticesDay, limit: limits.noticesPerAddressPerDay, window: Self.day)),
      try Check(
        scope: .appNotices, subject: .app(app),
        rule: LimitRule(daily: .noticesDay, limit: limits.noticesPerAppPerDay)),
    ]
  }
}
