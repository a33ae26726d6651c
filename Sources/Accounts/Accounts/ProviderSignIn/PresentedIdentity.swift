import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// An identity that a command has proven, with what decides on the answer.
struct PresentedIdentity: ProvenFactor {
  enum Source: Sendable, Hashable {
    case credential, pendingToken
  }

  let proven: ProvenIdentity
  let source: Source
  let app: String?
  /// Whether a refused link is answered with the credential rather than with an error.
  let returnsCredential: Bool

  var provider: SignInProvider { SignInProvider(name: proven.provider) }
  var method: Project.Method? {
    OpenIDConfigurations.isID(proven.provider) ? nil : Project.Method(rawValue: proven.provider)
  }
  var identity: SignedInIdentity? { proven.signedIn }

  /// Addresses of a relay name no user, and any user may give one that is not verified.
  var ownsAddress: Bool { isVerified && !proven.isRelayAddress && proven.email != nil }

  private var isVerified: Bool { proven.isEmailVerified && proven.isEmailBelieved }

  func key(project: String) throws(StoreError) -> UniqueKey {
    try AccountRecord.key(ofIdentity: proven.subject, at: proven.provider, project: project)
  }

  func addressKey(project: String) throws(StoreError) -> UniqueKey? {
    guard !proven.isRelayAddress, let email = proven.email else { return nil }
    return try AccountRecord.key(ofEmail: email, project: project)
  }

  /// An administrator may have led the provider to another issuer, whose subjects are other users.
  func refusal(by holder: AccountRecord) -> APIError? {
    guard let known = holder.identity(at: proven.provider)?.issuer, known != proven.issuer else { return nil }
    return .otherIssuer
  }

  func act(on account: AccountRecord) -> SensitiveAct? {
    account.identity(at: proven.provider)?.isSubject(proven.subject) == true ? nil : .linking
  }

  func fits(_ account: AccountRecord) -> Bool {
    account.identity(at: proven.provider) == nil && account.identities.count < AccountRecord.maxIdentities
  }

  /// One that was unlinked comes back by a link only.
  func joins(_ neighbor: AccountRecord) -> Bool {
    let hasRoom = fits(neighbor) || proven.email.map(neighbor.hasUnproven) ?? false
    return ownsAddress && hasRoom && !neighbor.hasUnlinked(proven.subject, at: proven.provider)
  }

  func trustedFrom(on neighbor: AccountRecord, at now: UnixTime) -> UnixTime? {
    let address = proven.email?.normalizedAddress
    // The account proved it by itself.
    if neighbor.isEmailVerified, neighbor.email?.normalizedAddress == address {
      return neighbor.emailTrustedFrom.flatMap { now < $0 ? $0 : nil }
    }
    let owners = neighbor.identities.filter { $0.ownsEmail && $0.email?.normalizedAddress == address }
    guard !owners.contains(where: { $0.isTrusted(at: now) }) else { return nil }
    return owners.compactMap(\.trustedFrom).min() ?? now + SensitiveAct.distrust
  }

  func supersedes(_ holder: AccountRecord) -> Bool { false }

  var isSpentByRefusal: Bool { source == .credential && proven.countsOnce != nil }

  // MARK: On an account

  func put(on account: inout AccountRecord, trustedFrom: UnixTime?, ownsAddress: Bool, at now: UnixTime) {
    var linked = LinkedIdentity(provider: proven.provider, subject: proven.subject, linkedAt: now)
    linked.lastProvenAt = proven.authenticatedAt
    linked.trustedFrom = trustedFrom
    takeAddress(to: &linked, ownsAddress)
    linked.displayName = name
    linked.photoURL = photo
    linked.grant = proven.grant
    linked.issuer = proven.issuer
    account.add(linked)
    account.isAnonymous = false
    account.displayName = account.displayName ?? name
    account.photoURL = account.photoURL ?? photo
  }

  var grant: ProviderGrant? { proven.grant }

  var proof: FirstProof {
    var identity = proven
    (identity.grant, identity.rawUserInfo) = (nil, "{}")
    return FirstProof(identity: identity)
  }

  /// A name that comes once stays, and what the user has changed or taken away is not put back.
  func renew(_ account: inout AccountRecord, ownsAddress: Bool) {
    guard let index = account.identities.firstIndex(where: { $0.provider == proven.provider }) else { return }
    var linked = account.identities[index]
    linked.lastProvenAt = max(linked.lastProvenAt ?? proven.authenticatedAt, proven.authenticatedAt)
    if proven.email != nil { takeAddress(to: &linked, ownsAddress) }
    if linked.displayName == nil { account.displayName = account.displayName ?? name }
    linked.displayName = name ?? linked.displayName
    linked.photoURL = photo ?? linked.photoURL
    linked.issuer = proven.issuer ?? linked.issuer
    account.identities[index] = linked
    if let grant = proven.grant { account.take(grant, at: proven.provider) }
    account.noteVouched(by: linked)
  }

  private func takeAddress(to linked: inout LinkedIdentity, _ owns: Bool) {
    // Apple's word on the relay is about one address.
    if linked.email?.normalizedAddress != proven.email?.normalizedAddress {
      (linked.isMailOff, linked.mailNotedAt) = (false, nil)
    }
    linked.email = proven.email
    linked.isEmailVerified = isVerified
    linked.ownsEmail = owns
  }

  private var name: String? { proven.displayName }
  private var photo: String? { proven.photoURL }

  // MARK: Refusals

  /// A credential that counts once is used up by that, so the answer has what stands for it.
  func refuse(
    _ refusal: SignInRefusal, _ desk: RefusalDesk, in set: inout WorkingSet
  ) throws(StoreError) -> SignInOutcome {
    guard isSpentByRefusal else { return try refuseWithoutToken(refusal, desk) }
    let (text, _) = try desk.ticket(
      .pendingCredential, proven, app: app, isDue: proven.grant != nil, in: &set)
    let answer = try desk.answers.refused(refusal, proven.signedIn, text)
    return SignInOutcome(answer: answer, usesProof: true, isProofKept: true)
  }

  /// The credential may come again; or its token is there, and stays good unless a link was refused.
  private func refuseWithoutToken(
    _ refusal: SignInRefusal, _ desk: RefusalDesk
  ) throws(StoreError) -> SignInOutcome {
    let usesProof = [.alreadyLinked, .emailExists].contains(refusal)
    let error: APIError? =
      switch refusal {
      case .unknown: refusal.error
      case .alreadyLinked, .emailExists, .consentRequired, .unconfirmed: returnsCredential ? nil : refusal.error
      }
    var answer =
      if let error { CommandAnswer(error) } else { try desk.answers.refused(refusal, proven.signedIn) }
    // The inbox holds no identity: the same command gets the bare error.
    if usesProof, error == nil { answer.note = try AnswerNote.refused(refusal).bytes }
    return SignInOutcome(answer: answer, usesProof: usesProof)
  }
}

extension ProvenIdentity {
  var signedIn: SignedInIdentity {
    var identity = SignedInIdentity(providerID: provider, federatedID: subject)
    identity.email = email
    identity.emailVerified = email == nil ? nil : isEmailVerified
    identity.displayName = displayName
    identity.fullName = displayName
    identity.photoURL = photoURL
    identity.rawUserInfo = rawUserInfo
    identity.oauthIDToken = oauthIDToken?.reveal()
    identity.oauthAccessToken = oauthAccessToken?.reveal()
    identity.oauthExpiresIn = oauthExpiresIn
    return identity
  }
}

extension LinkedIdentity {
  /// Subjects that are written in two ways are two.
  func isSubject(_ other: String) -> Bool { subject.utf8.elementsEqual(other.utf8) }

  /// The identity without its credential, for a command that is answered again.
  var signedIn: SignedInIdentity {
    var identity = SignedInIdentity(providerID: provider, federatedID: subject)
    identity.email = email
    identity.emailVerified = email == nil ? nil : isEmailVerified
    identity.displayName = displayName
    identity.photoURL = photoURL
    return identity
  }
}

/// Content of a pending token. The provider's tokens are not in it, as they count no more, but for the one that is kept.
extension ProvenIdentity: FieldCoded {
  init(_ fields: inout FieldCoder, _ identity: Self?) throws(UnreadableFields) {
    self.init(
      provider: try fields.required(1, identity?.provider), subject: try fields.required(2, identity?.subject),
      authenticatedAt: try fields.required(3, identity?.authenticatedAt))
    email = fields.optional(4, identity?.email)
    isEmailVerified = fields.flag(5, identity?.isEmailVerified)
    isEmailBelieved = fields.flag(6, identity?.isEmailBelieved)
    isRelayAddress = fields.flag(7, identity?.isRelayAddress)
    displayName = fields.optional(8, identity?.displayName)
    givenName = fields.optional(9, identity?.givenName)
    familyName = fields.optional(10, identity?.familyName)
    photoURL = fields.optional(11, identity?.photoURL)
    rawUserInfo = try fields.required(12, identity?.rawUserInfo)
    grant = try fields.optional(13, identity?.grant)
    issuer = fields.optional(14, identity?.issuer)
  }
}
