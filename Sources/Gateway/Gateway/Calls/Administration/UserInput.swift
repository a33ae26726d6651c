import CountersignMessages
import CountersignTelemetry

extension UserFields {
  /// Seconds of the last time that a text of the contract can tell, the end of the year 9999.
  private static let maxSeconds = 253_402_300_799

  /// Fields of a user that an administrator writes: of a new one, a change, a row of an import.
  ///
  /// Too long texts go on as they are, within the limits of secrets: accounts judges them.
  init(_ body: CallBody) throws(ProtocolError) {
    self.init(localID: try body.secret("localId", else: "INVALID_LOCAL_ID"))
    email = try body.secret("email", else: "INVALID_EMAIL")
    emailVerified = try body.bool("emailVerified")
    password = try body.secret(body.has("password") ? "password" : "rawPassword", else: "INVALID_PASSWORD")
    displayName = try body.anyText("displayName")
    photoURL = try body.anyText("photoUrl")
    phoneNumber = try body.secret("phoneNumber", else: "INVALID_PHONE_NUMBER")
    disabled = try body.bool(body.has("disableUser") ? "disableUser" : "disabled")
    customAttributes = try body.secret("customAttributes", else: "CLAIMS_TOO_LARGE")
    validSince = try Self.time("validSince", of: body, perSecond: 1)
    createdAt = try Self.time("createdAt", of: body, perSecond: 1_000)
    lastLoginAt = try Self.time("lastLoginAt", of: body, perSecond: 1_000)
    deleteAttributes = try body.deletedAttributes()
    deleteProviders = try body.deletedProviders()
    secondFactors = try UserSecondFactor.list(of: body)
  }

  init(imported body: CallBody) throws(ProtocolError) {
    try self.init(body)
    passwordHash = try body.secret("passwordHash", else: "INVALID_PASSWORD_HASH")
    salt = try body.secret("salt", else: "INVALID_PASSWORD_SALT")
    identities = try UserIdentity.list("providerUserInfo", of: body)
  }

  private static func time(
    _ name: String, of body: CallBody, perSecond: Int
  ) throws(ProtocolError) -> UnixTime? {
    guard let number = try body.integer(name) else { return nil }
    guard (0...maxSeconds * perSecond).contains(number) else {
      throw .badField(name, expected: "a time since 1970, in \(perSecond == 1 ? "seconds" : "milliseconds")")
    }
    return UnixTime(milliseconds: Int64(number) * Int64(1_000 / perSecond))
  }
}

extension UserIdentity {
  static func list(_ name: String, of body: CallBody) throws(ProtocolError) -> [UserIdentity]? {
    var identities: [UserIdentity] = []
    for entry in try body.objects(name) {
      if let identity = try UserIdentity(entry) { identities.append(identity) }
    }
    return identities.isEmpty ? nil : identities
  }

  /// Identity at a provider. `nil` for what an account has by its own fields: address and number.
  init?(_ body: CallBody) throws(ProtocolError) {
    let provider = try body.word("providerId", else: "INVALID_PROVIDER_ID", missing: "INVALID_PROVIDER_ID")
    guard provider != "password", provider != "phone" else { return nil }
    let subject = try body.word(
      body.has("rawId") ? "rawId" : "federatedId", else: "INVALID_PROVIDER_ID", missing: "INVALID_PROVIDER_ID")
    self.init(providerID: provider, subject: subject)
    email = try body.secret("email", else: "INVALID_EMAIL")
    displayName = try body.text("displayName")
    photoURL = try body.text("photoUrl")
  }
}
