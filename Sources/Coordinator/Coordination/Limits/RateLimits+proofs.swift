import CountersignTelemetry
import SQLite

extension RateLimits {
  /// Counts a receipt for the device, the address, the app, and in total.
  func admitReceipt(
    ofToken token: TokenHash, app: String, from address: ClientAddress?, at now: UnixTime, in store: some UsageStore
  ) throws(DatabaseError) -> LimitRefusal? {
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
    return try admit([device] + proofs(from: address) + budgets, at: now, in: store)
  }

  /// Counts the assessment of a reCAPTCHA token for the address, the app, and in total.
  func admitAssessment(
    app: String, from address: ClientAddress?, at now: UnixTime, in store: some UsageStore
  ) throws(DatabaseError) -> LimitRefusal? {
    let budgets = [
      Check(
        scope: .appAssessments, subject: .app(app),
        rule: LimitRule(daily: .assessmentsDay, limit: limits.assessmentsPerAppPerDay)),
      Check(
        scope: .totalAssessments, subject: .everybody,
        rule: LimitRule(daily: .assessmentsDay, limit: limits.assessmentsPerDay)),
    ]
    return try admit(proofs(from: address) + budgets, at: now, in: store)
  }

  private func proofs(from address: ClientAddress?) -> [Check] {
    guard let address else { return [] }
    let rule = LimitRule(sliding: .proofs, limit: limits.proofsPerAddressPerHour, window: Self.hour)
    return [
      Check(scope: .addressProofs, subject: subjects.subject(.address, address.network), rule: rule)
    ]
  }

  /// Counts a revocation and its notice by mail.
  /// - Parameter address: recipient of the notice, if one is requested.
  func admitRevocation(
    app: String, noticeTo address: String?, at now: UnixTime, in store: some UsageStore
  ) throws(DatabaseError) -> LimitRefusal? {
    let budgets = [
      Check(
        scope: .appRevocations, subject: .app(app),
        rule: LimitRule(daily: .revocationsDay, limit: limits.revocationsPerAppPerDay)),
      Check(
        scope: .totalRevocations, subject: .everybody,
        rule: LimitRule(daily: .revocationsDay, limit: limits.revocationsPerDay)),
    ]
    return try admit(budgets + notices(to: address, of: app), at: now, in: store)
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
