import CommandEngine
import CountersignMessages
import CountersignTelemetry
import PasswordHashing

/// Effect of an administrator's fields on an account.
struct AccountChange: Sendable {
  let fields: AccountFields
  let sessions: Sessions

  /// - Parameter password: hash of the new password.
  /// - Returns: the reason that the account cannot have the fields. Nothing is changed then.
  func apply(
    to account: inout AccountRecord, password: PasswordHash?, in set: inout WorkingSet
  ) throws(StoreError) -> APIError? {
    if let conflict = try fields.conflict(with: account.id, in: account.project, set) { return conflict }
    if let conflict = link(to: &account, at: set.now) { return conflict }
    let before = account
    fields.profile.apply(to: &account)
    setAddress(of: &account)
    if let number = fields.phoneNumber {
      account.phoneNumber = number
      (account.isNumberFictional, account.numberTrustedFrom) = (false, nil)
    }
    if let refusal = fields.secondFactors.apply(to: &account, at: set.now) { return refusal }
    if let number = account.phoneNumber, account.secondFactor(byNumber: number) != nil { return .numberOfBothFactors }
    if let password { try account.setPassword(password, in: &set) }
    try account.removeLostPassword(of: before, in: &set)
    if let isDisabled = fields.isDisabled { account.isDisabled = isDisabled }
    if fields.setsClaims { account.claims = fields.claims }
    if account.hasWayIn || account.email != nil { account.isAnonymous = false }
    try endSessions(of: &account, before: before, hasNewPassword: password != nil, in: &set)
    return nil
  }

  private func link(to account: inout AccountRecord, at now: UnixTime) -> APIError? {
    for identity in fields.identities {
      if let linked = account.identity(at: identity.providerID) {
        guard linked.isSubject(identity.subject) else { return .identityTaken }
        continue
      }
      guard account.identities.count < AccountRecord.maxIdentities else { return .identityTaken }
      account.add(LinkedIdentity(identity, linkedAt: now))
    }
    return nil
  }

  private func setAddress(of account: inout AccountRecord) {
    if let email = fields.email {
      if account.email?.normalizedAddress != email.normalizedAddress {
        (account.isEmailVerified, account.emailTrustedFrom) = (false, nil)
      }
      account.email = email
      account.initialEmail = account.initialEmail ?? email
    }
    if let isVerified = fields.isEmailVerified, account.email != nil { account.isEmailVerified = isVerified }
  }

  /// With another password or address all end, and those that a lost way or a lost second factor began: a thief may have
  /// one.
  private func endSessions(
    of account: inout AccountRecord, before: AccountRecord, hasNewPassword: Bool, in set: inout WorkingSet
  ) throws(StoreError) {
    if let validSince = fields.validSince {
      // A time from the future would be taken for a clock that was set back.
      account.validSince = max(account.validSince, UnixTime(seconds: min(validSince, set.now).seconds))
    }
    if hasNewPassword || account.hasPassword != before.hasPassword
      || account.email?.normalizedAddress != before.email?.normalizedAddress
    {
      return try sessions.endAll(of: &account, in: &set)
    }
    var lost = Set(before.ways).subtracting(account.ways)
    if before.phoneNumber != nil, account.phoneNumber != before.phoneNumber { lost.insert(SignInProvider.phone.name) }
    let providers = Set(lost.map(SignInProvider.init(name:)))
    let factors = account.lostSecondFactors(from: before)
    guard !providers.isEmpty || !factors.isEmpty || account.validSince != before.validSince else { return }
    for session in try sessions.all(of: account, in: set)
    where providers.contains(session.firstFactor) || session.enrollmentID.map(factors.contains) ?? false
      || session.authTime < account.validSince
    {
      try set.remove(session.id)
    }
  }
}
