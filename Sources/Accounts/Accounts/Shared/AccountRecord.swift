import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

struct AccountRecord: Sendable, Hashable {
  static let kind = RecordKind("account")
  static let phone = KeySpace(kind, "phone")
  static let identity = KeySpace(kind, "identity")
  static let email = KeySpace(kind, "email")
  static let ofProject = KeySpace(kind, "project")
  static let grants = KeySpace(kind, "grants")
  static let mailOff = KeySpace(kind, "mailOff")
  /// Length of the IDs of users that are made here. Users of other systems keep theirs.
  static let randomLength = 28
  /// Length of a record's ID: a hash in base64url.
  static let idLength = 43
  static let maxIdentities = 16

  /// Hash of project and user ID, which may be any text.
  let id: RecordID
  let project: String
  /// ID of the user: 1 to 128 bytes of any text.
  let localID: String
  let createdAt: UnixTime
  var lastLoginAt: UnixTime
  var lastRefreshAt: UnixTime?
  /// Sessions and ID tokens from before are void. Whole seconds, as the `iat` of tokens.
  var validSince: UnixTime
  /// E.164.
  var phoneNumber: String?
  /// Whether its number was proven with a fictional code only, or the one that it had last.
  var isNumberFictional = false
  /// Time from which a sign-in by the number counts as recent: the number was put on the account without a recent
  /// sign-in. `nil` when it always does.
  var numberTrustedFrom: UnixTime?
  /// Last time that a token of Sign in with Apple was revoked.
  var appleRevokedAt: UnixTime?
  /// Address of its own: of a password, of links, or as an administrator set it. It alone has it.
  var email: String?
  var isEmailVerified = false
  /// The first address that it had.
  var initialEmail: String?
  /// Last change of its password, whose hash has a record of its own. `nil` without one.
  var passwordChangedAt: UnixTime?
  /// Time from which a sign-in by password or link counts as recent. `nil` when it always does.
  var emailTrustedFrom: UnixTime?
  /// Whether links sent to its own address sign in.
  var signsInByLink = false
  /// Claims of its tokens, as a JSON object of at most 1,000 characters.
  var claims: String?
  /// At most one of a provider, the oldest link first.
  var identities: [LinkedIdentity] = []
  /// Identities that were unlinked, the oldest first: their addresses do not bring them back.
  var unlinked: [UnlinkedIdentity] = []
  /// Grants of identities that it has just lost: their revocation is stored with it.
  var lostGrants: [LostGrant] = []
  /// Whether it never had a way to sign in: only its first session opens it.
  var isAnonymous = false
  /// Whether its user alone made it, and no custom token has opened it: no one else brings the user back.
  var isSelfMade = false
  /// Time at which the end of its last session is looked for. Of an anonymous account only, which goes with that.
  var endsAt: UnixTime?
  /// The oldest first.
  var secondFactors: [SecondFactor] = []
  /// At most one of a purpose, the oldest purpose first.
  var consents: [RecordedConsent] = []
  var displayName: String?
  var photoURL: String?
  var isDisabled = false

  init(_ localID: String, project: String, at now: UnixTime) throws(StoreError) {
    guard let id = Self.id(of: localID, project: project) else { throw StoreError.unreadableBody }
    self.id = id
    self.localID = localID
    self.project = project
    createdAt = now
    lastLoginAt = now
    validSince = UnixTime(seconds: now.seconds)
  }

  var hasPassword: Bool { passwordChangedAt != nil }
  /// Whether its own address signs in: `password` among its ways.
  var signsInByEmail: Bool { email != nil && (hasPassword || signsInByLink) }

  var hasWayIn: Bool { !ways.isEmpty }

  /// Ways to sign in: providers, `phone`, and `password` for a password or links.
  var ways: [String] {
    identities.map(\.provider) + (phoneNumber == nil ? [] : [SignInProvider.phone.name])
      + (signsInByEmail ? [SignInProvider.password.name] : [])
  }

  /// The address that it shows: its own, else that of the first identity that owns one, else of the first that has one.
  var address: (email: String, isVerified: Bool)? {
    if let email { return (email, isEmailVerified) }
    let identity = identities.first(where: \.ownsEmail) ?? identities.first { $0.email != nil }
    return identity.flatMap { identity in identity.email.map { ($0, identity.isEmailVerified) } }
  }

  /// Whether a way to sign in gives recent sign-ins.
  func hasTrustedWay(at now: UnixTime) -> Bool {
    if phoneNumber != nil, numberTrustedFrom.map({ $0 <= now }) ?? true { return true }
    if signsInByEmail, emailTrustedFrom.map({ $0 <= now }) ?? true { return true }
    return identities.contains { $0.isTrusted(at: now) }
  }

  func identity(at provider: String) -> LinkedIdentity? { identities.first { $0.provider == provider } }

  var view: AccountView {
    var view = AccountView(localID: localID, createdAt: createdAt, lastLoginAt: lastLoginAt, validSince: validSince)
    view.displayName = displayName
    view.photoURL = photoURL
    view.phoneNumber = phoneNumber
    view.email = address?.email
    view.emailVerified = address?.isVerified
    view.passwordChangedAt = passwordChangedAt
    view.signsInByLink = signsInByLink ? true : nil
    view.initialEmail = initialEmail
    view.customAttributes = claims
    view.secondFactors = secondFactors.isEmpty ? nil : secondFactors.map { $0.view(isMasked: false) }
    view.consents = consents.isEmpty ? nil : consents.map(\.view)
    view.identities = identities.isEmpty ? nil : identities.map(\.view)
    view.disabled = isDisabled
    view.lastRefreshAt = lastRefreshAt
    return view
  }

  // MARK: Storing

  func store(isNew: Bool = false, in set: inout WorkingSet) throws(StoreError) {
    let before = try isNew ? nil : set.record(id)
    try set.store(
      id, self, isNew: isNew, dueAt: isAnonymous ? endsAt : nil, discardAt: nil, uniqueKeys: uniqueKeys(),
      groupKeys: groupKeys())
    for (place, lost) in lostGrants.enumerated() {
      try GrantRevocation.begin(lost, of: self, place: place, in: &set)
    }
    if let before { try forgetAddresses(before: before, in: &set) }
  }

  private func groupKeys() throws(StoreError) -> [GroupKey] {
    var keys = [try Self.group(ofProject: project)]
    let tokenKeys = identities.compactMap(\.grant?.sealedUnder) + secondFactors.compactMap(\.secret?.sealedUnder)
    for key in Set(tokenKeys).sorted() { keys.append(try Self.group(ofSecretsUnder: key)) }
    for identity in identities where identity.isMailOff {
      if let email = identity.email { keys.append(try Self.group(ofMailOff: email, project: project)) }
    }
    return keys
  }

  private func uniqueKeys() throws(StoreError) -> [UniqueKey] {
    var keys: [UniqueKey] = []
    if let phoneNumber { keys.append(try Self.key(ofNumber: phoneNumber, project: project)) }
    if let email { keys.append(try Self.key(ofEmail: email, project: project)) }
    for identity in identities {
      keys.append(try Self.key(ofIdentity: identity.subject, at: identity.provider, project: project))
      guard identity.ownsEmail, let email = identity.email else { continue }
      let key = try Self.key(ofEmail: email, project: project)
      if !keys.contains(key) { keys.append(key) }
    }
    return keys
  }

  // MARK: Look-ups

  static func id(of localID: String, project: String) -> RecordID? {
    RecordID(kind, Base64URL.encode(AccountHashes.digest("account", [project, localID])))
  }

  /// Numbers are in the clear in accounts anyway.
  static func key(ofNumber number: String, project: String) throws(StoreError) -> UniqueKey {
    try UniqueKey(phone, Array(project.utf8) + [0] + Array(number.utf8))
  }

  static func key(ofIdentity subject: String, at provider: String, project: String) throws(StoreError) -> UniqueKey {
    try UniqueKey(identity, AccountHashes.digest("identity", [project, provider, subject]))
  }

  /// Addresses that differ in the case of letters are one.
  static func key(ofEmail address: String, project: String) throws(StoreError) -> UniqueKey {
    try UniqueKey(email, AccountHashes.digest("email", [project, address.normalizedAddress]))
  }

  static func group(ofProject project: String) throws(StoreError) -> GroupKey {
    try GroupKey(ofProject, Array(project.utf8))
  }

  /// Accounts that have a grant or a second factor which the token key of that name has sealed. The space is named after
  /// the grants, which were alone there at first.
  static func group(ofSecretsUnder key: String) throws(StoreError) -> GroupKey {
    try GroupKey(grants, AccountHashes.digest("grants", [key]))
  }

  /// Accounts of an address whose relay takes no mail.
  static func group(ofMailOff address: String, project: String) throws(StoreError) -> GroupKey {
    try GroupKey(mailOff, AccountHashes.digest("mailOff", [project, address.normalizedAddress]))
  }

  /// `nil` for an account of another project.
  static func find(_ localID: String, project: String, in set: WorkingSet) throws(StoreError) -> AccountRecord? {
    guard let id = id(of: localID, project: project) else { return nil }
    return try find(id, project: project, in: set)
  }

  /// `nil` for an account of another project.
  static func find(_ id: RecordID, project: String, in set: WorkingSet) throws(StoreError) -> AccountRecord? {
    guard let record = try set.record(id) else { return nil }
    let account = try AccountRecord(record)
    return account.project == project ? account.corrected(at: set.now) : nil
  }

  static func find(holderOf key: UniqueKey, in set: WorkingSet) throws(StoreError) -> AccountRecord? {
    guard let record = try set.holder(of: key) else { return nil }
    return try AccountRecord(record).corrected(at: set.now)
  }

  /// The account without a ``validSince`` from the future: the clock was set back, and no token could be valid until it
  /// has caught up. Sessions that were ended are deleted, so none comes back.
  private func corrected(at now: UnixTime) -> AccountRecord {
    guard validSince > now + IDTokens.maxSkew else { return self }
    var account = self
    account.validSince = UnixTime(seconds: 0)
    return account
  }
}

extension AccountRecord: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ account: Self?) throws(UnreadableFields) {
    id = record.id
    project = try fields.required(1, account?.project)
    localID = try fields.required(2, account?.localID)
    createdAt = try fields.required(3, account?.createdAt)
    lastLoginAt = try fields.required(4, account?.lastLoginAt)
    lastRefreshAt = fields.optional(5, account?.lastRefreshAt)
    validSince = try fields.required(6, account?.validSince)
    phoneNumber = fields.optional(7, account?.phoneNumber)
    isNumberFictional = fields.flag(8, account?.isNumberFictional)
    numberTrustedFrom = fields.optional(9, account?.numberTrustedFrom)
    isAnonymous = fields.flag(10, account?.isAnonymous)
    displayName = fields.optional(11, account?.displayName)
    photoURL = fields.optional(12, account?.photoURL)
    isDisabled = fields.flag(13, account?.isDisabled)
    isSelfMade = fields.flag(14, account?.isSelfMade)
    appleRevokedAt = fields.optional(20, account?.appleRevokedAt)
    email = fields.optional(21, account?.email)
    isEmailVerified = fields.flag(22, account?.isEmailVerified)
    initialEmail = fields.optional(23, account?.initialEmail)
    passwordChangedAt = fields.optional(24, account?.passwordChangedAt)
    emailTrustedFrom = fields.optional(25, account?.emailTrustedFrom)
    signsInByLink = fields.flag(26, account?.signsInByLink)
    claims = fields.optional(27, account?.claims)
    identities = try fields.list(32, account?.identities)
    unlinked = try fields.list(33, account?.unlinked)
    secondFactors = try fields.list(34, account?.secondFactors)
    consents = try fields.list(35, account?.consents)
    endsAt = record.dueAt
  }
}
