import CountersignTelemetry

/// Identity that a provider's credential has proven.
struct ProvenIdentity: Sendable {
  /// `apple.com`.
  let provider: String
  /// The provider's ID of the user: 1 to 255 bytes.
  let subject: String
  /// Issuer that the subject is unique at. `nil` for providers that have but one.
  var issuer: String?
  /// As the provider gave it.
  var email: String?
  /// Whether the provider calls the address verified.
  var isEmailVerified = false
  /// Whether the provider's word on the address lets its owner into an account that has it: only a provider that
  /// answers for the mailbox is believed.
  var isEmailBelieved = false
  /// Whether the address is one of a relay, which never matches another account.
  var isRelayAddress = false
  var displayName: String?
  var givenName: String?
  var familyName: String?
  var photoURL: String?
  /// The profile as JSON text, of at most ``maxUserInfoBytes``.
  var rawUserInfo = "{}"
  /// Time of issue of the credential, or of its arrival.
  let authenticatedAt: UnixTime
  /// Hash of a credential that counts once. `nil` for those that may come again.
  var countsOnce: SpentCredential?
  var oauthIDToken: Secret?
  var oauthAccessToken: Secret?
  /// Seconds of the access token's validity.
  var oauthExpiresIn: Int?
  /// Refresh token that is kept with the identity. Of Apple's page alone.
  var grant: ProviderGrant?

  static let maxSubjectBytes = 255
  static let maxUserInfoBytes = 16 << 10

  init(provider: String, subject: String, authenticatedAt: UnixTime) {
    self.provider = provider
    self.subject = subject
    self.authenticatedAt = authenticatedAt
  }
}

/// Credential that counts once.
struct SpentCredential: Sendable, Hashable {
  /// Parts of a hash without a key that distinguish it.
  let value: [String]
  /// Time until which it has to be remembered: it is refused as expired afterward.
  let until: UnixTime
}
