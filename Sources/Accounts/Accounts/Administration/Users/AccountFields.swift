import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// Fields of a user, checked as far as that needs no store.
struct AccountFields: Sendable {
  static let localIDs = 1...128

  let localID: String?
  let email: String?
  let isEmailVerified: Bool?
  let profile: ProfileChange
  /// E.164.
  let phoneNumber: String?
  let isDisabled: Bool?
  /// Whether the claims are set, to none where ``claims`` is `nil`.
  let setsClaims: Bool
  let claims: String?
  let validSince: UnixTime?
  let identities: [UserIdentity]
  let secondFactors: SecondFactorFields

  init(_ user: UserFields) throws(APIError) {
    localID = try user.localID.map(Self.localID)
    email = try user.email.map(MailAddress.read)
    isEmailVerified = user.emailVerified
    let (attributes, providers) = (Set(user.deleteAttributes ?? []), Set(user.deleteProviders ?? []))
    profile = try ProfileChange(
      displayName: user.displayName, photoURL: user.photoURL, without: attributes, unlinking: providers)
    phoneNumber = try user.phoneNumber.map { number throws(APIError) in try Self.number(number, "phoneNumber") }
    isDisabled = user.disabled
    setsClaims = user.customAttributes != nil
    claims = try user.customAttributes.flatMap(CustomClaims.check)
    validSince = user.validSince
    identities = try Self.identities(user.identities ?? [])
    secondFactors = try SecondFactorFields(user)
  }

  static func localID(_ text: String) throws(APIError) -> String {
    guard localIDs.contains(text.utf8.count) else {
      throw APIError(
        .invalidLocalID, "the ID of a user has 1 to \(localIDs.upperBound) bytes in UTF-8", field: "localID")
    }
    return text
  }

  /// Numbers of all countries, possible or not: an administrator answers for them.
  static func number(_ text: String, _ field: String) throws(APIError) -> String {
    let digits = text.utf8.dropFirst()
    guard text.utf8.first == UInt8(ascii: "+"), (7...15).contains(digits.count),
      digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), digits.first != UInt8(ascii: "0")
    else { throw APIError(.invalidPhoneNumber, "the phone number is not in E.164", field: field) }
    return text
  }

  /// `password` and `phone`, which Google lists as providers, are fields of their own here.
  private static func identities(_ all: [UserIdentity]) throws(APIError) -> [UserIdentity] {
    let identities = all.filter {
      $0.providerID != SignInProvider.password.name && $0.providerID != SignInProvider.phone.name
    }
    guard identities.count <= AccountRecord.maxIdentities, Set(identities.map(\.providerID)).count == identities.count
    else {
      throw APIError(
        .invalidArgument, "an account has up to \(AccountRecord.maxIdentities) identities, one of a provider",
        field: "identities")
    }
    for identity in identities {
      guard ProjectForms.isProviderID(identity.providerID),
        (1...ProvenIdentity.maxSubjectBytes).contains(identity.subject.utf8.count)
      else {
        throw APIError(
          .invalidArgument, "an identity has the ID of a provider, such as apple.com, and an ID there",
          field: "identities")
      }
    }
    return identities
  }

  /// Everything whose holder may be another account.
  func addKeys(in project: String, to keys: inout StoreKeys) throws(StoreError) {
    if let email { keys.add(holderOf: try AccountRecord.key(ofEmail: email, project: project)) }
    if let phoneNumber { keys.add(holderOf: try AccountRecord.key(ofNumber: phoneNumber, project: project)) }
    for identity in identities {
      keys.add(
        holderOf: try AccountRecord.key(ofIdentity: identity.subject, at: identity.providerID, project: project))
    }
  }

  /// Reason that the account cannot have them: another one does.
  func conflict(with id: RecordID, in project: String, _ set: WorkingSet) throws(StoreError) -> APIError? {
    var keys = StoreKeys()
    try addKeys(in: project, to: &keys)
    try set.require(keys)
    func isTaken(_ key: UniqueKey) throws(StoreError) -> Bool { try set.holder(of: key).map { $0.id != id } ?? false }
    if let email, try isTaken(AccountRecord.key(ofEmail: email, project: project)) { return .emailTaken }
    if let phoneNumber, try isTaken(AccountRecord.key(ofNumber: phoneNumber, project: project)) {
      return .numberTaken
    }
    for identity in identities {
      let key = try AccountRecord.key(ofIdentity: identity.subject, at: identity.providerID, project: project)
      if try isTaken(key) { return .identityTaken }
    }
    return nil
  }
}

extension LinkedIdentity {
  /// An identity that an administrator vouches for. Its address is only shown.
  init(_ identity: UserIdentity, linkedAt: UnixTime) {
    self.init(provider: identity.providerID, subject: identity.subject, linkedAt: linkedAt)
    email = identity.email.flatMap { ProfileText.isEmail($0) ? $0 : nil }
    displayName = identity.displayName.flatMap(ProfileText.name)
    photoURL = identity.photoURL.flatMap(ProfileText.photoURL)
  }
}

extension APIError {
  static let emailTaken = APIError(.emailExists, "another account has the address", field: "email")
  static let numberTaken = APIError(.phoneNumberExists, "another account has the number", field: "phoneNumber")
  static let identityTaken = APIError(
    .identityAlreadyLinked, "another account has the identity, or this one has another of the provider",
    field: "identities")
}
