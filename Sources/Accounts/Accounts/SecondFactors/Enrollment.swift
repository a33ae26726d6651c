import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// Mail that tells the owner of an account of a new second factor. One for all runs of a command: they mail one link.
struct EnrollmentMail: Sendable {
  let mailLinks: MailLinks
  let runs = MailLinkRuns()
}

/// Putting a second factor on the account of a signed-in user.
struct Enrollment: Sendable {
  let kind: SecondFactorKind
  let project: Project
  let reader: CommandReader

  /// Reason that the user may enrol no factor of the kind now.
  ///
  /// - Parameter arrivedAt: time at which the command arrived: the sign-in must have been recent then.
  func refusal(of holder: IDTokenCheck.Holder, arrivedAt: UnixTime) -> APIError? {
    do throws(APIError) {
      try reader.requireMethod(.secondFactor(kind), of: project.id)
      try holder.require(.changeOfCredential, project.recentLogin, at: arrivedAt)
    } catch {
      return error
    }
    switch holder.session.firstFactor {
    case .anonymous, .phone, .custom: return .unsupportedFirstFactor
    default: break
    }
    guard holder.account.address?.isVerified == true else { return .unverifiedEmail }
    guard holder.account.secondFactors.count < SecondFactor.most else { return .secondFactorLimitExceeded }
    var account = holder.account
    account.secondFactors.append(SecondFactor(kind, enrollmentID: "", enrolledAt: arrivedAt))
    return LinkingConsent(project).allows(account, from: holder.account) ? nil : .consentRequired
  }

  /// Puts the factor on the account, whose user has just given it: the session says so from now on. The other sessions
  /// end: they began without it. The owner is mailed the way back.
  func add(
    _ factor: SecondFactor, to holder: IDTokenCheck.Holder, telling mail: EnrollmentMail, eventID: String,
    cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> IDTokenCheck.Holder {
    var (account, session) = (holder.account, holder.session)
    account.secondFactors.append(factor)
    (session.secondFactor, session.enrollmentID) = (factor.kind, factor.enrollmentID)
    let sessions = Sessions(rules: reader.rules.sessions)
    try sessions.endOthers(than: session, in: &set)
    try session.store(sessions.rules, in: &set)
    try account.store(in: &set)
    try AccountEvents(account, eventID, cause).changes(from: holder.account, in: &set)
    try mail.mailLinks.announce(factor, of: account, project, mail.runs, cause: cause, in: &set)
    return IDTokenCheck.Holder(account: account, session: session)
  }
}

extension OpenPendingSignIn {
  /// Begins the session of a first and a second factor, and uses the pending credential up. Only now the first one
  /// renews the account.
  ///
  /// - Parameter account: the account, as giving the factor has changed it.
  func finish(
    _ account: AccountRecord, with factor: SecondFactor, _ reader: CommandReader, _ runs: SignInRuns, _ seal: ReplySeal,
    cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    try set.remove(ticket.id)
    let account = try renewed(account, reader, in: &set)
    var first = FirstFactor(provider: content.provider, reader: reader, runs: runs, cause: cause)
    first.claims = content.claims
    let outcome = try first.finish(account, isNewUser: false, with: factor, in: &set)
    try AccountEvents(account, runs.random.eventID, cause).changes(from: self.account, in: &set)
    return try SignInAnswers(reader: reader, seal: seal).answer(outcome, isNewUser: false, at: set.now)
  }

  private func renewed(
    _ account: AccountRecord, _ reader: CommandReader, in set: inout WorkingSet
  ) throws(StoreError) -> AccountRecord {
    var renewed = account
    // It has a way back now.
    if content.provider == .custom { (renewed.isAnonymous, renewed.isSelfMade) = (false, false) }
    guard let factor = content.proof.factor(of: account) else { return renewed }
    var keys = StoreKeys()
    try factor.addKeys(in: account.project, to: &keys)
    try set.require(keys)
    let claim = try factor.claim(in: account.project, reader, set)
    let isFree = claim.neighbor.map { $0.id == account.id } ?? true
    factor.renew(&renewed, ownsAddress: claim.ownsAddress && isFree)
    // A consent that was revoked meanwhile.
    guard reader.linkingConsent(of: account.project).allows(renewed, from: account) else { return account }
    try Sessions(rules: reader.rules.sessions).endFictional(of: &renewed, before: account, in: &set)
    return renewed
  }
}

extension Project.Method {
  static func secondFactor(_ kind: SecondFactorKind) -> Project.Method {
    switch kind {
    case .phone: .phoneSecondFactor
    case .totp: .totp
    }
  }
}

extension APIError {
  static let missingPendingCredential = APIError(
    .missingPendingCredential, "an ID token, or the pending credential of a first factor, is needed",
    field: "pendingCredential")
  static let missingEnrollmentID = APIError(
    .missingEnrollmentID, "the second factor is not named", field: "enrollmentID")
  static let enrollmentNotFound = APIError(
    .enrollmentNotFound, "the account has no such second factor", field: "enrollmentID")
  static let unsupportedFirstFactor = APIError(
    .unsupportedFirstFactor, "MFA is not available for the given first factor.")
  static let numberOfBothFactors = APIError(
    .unsupportedFirstFactor, "A phone number cannot be set as a first factor on an SMS based MFA user.",
    field: "phoneNumber")
  static let unverifiedEmail = APIError(
    .unverifiedEmail, "Need to verify email first before enrolling second factors.")
  static let secondFactorExists = APIError(
    .secondFactorExists, "Phone number already enrolled as second factor for this account.", field: "phoneNumber")
  static let secondFactorLimitExceeded = APIError(
    .secondFactorLimitExceeded, "the account has \(SecondFactor.most) second factors: withdraw one")
}
