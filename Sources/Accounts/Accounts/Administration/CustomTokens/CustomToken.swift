import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A token by which a service of the app's own signs a user in.
struct CustomToken: Sendable {
  static let audience =
    "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
  /// Issuer of unsigned ones, in development.
  private static let emulator = "firebase-auth-emulator@example.com"

  let localID: String
  let claims: String?
  /// Signature to look at, with the account that it is of. `nil` for an unsigned one.
  let signed: (assertion: AccountAssertion, by: ServiceAccountName)?

  /// - Throws: `INVALID_CUSTOM_TOKEN`, `CREDENTIAL_MISMATCH`, or what is wrong with its claims.
  init(_ token: Secret, project: String, isDevelopment: Bool, at now: UnixTime) throws(APIError) {
    guard !token.isEmpty else {
      throw APIError(.missingCustomToken, "a custom token is needed", field: "token")
    }
    let claims: ProviderClaims
    if isDevelopment, token.reveal().utf8.count <= AccountAssertion.maxBytes,
      let unsigned = EmulatorToken.claims(of: token.reveal())
    {
      guard unsigned.text("iss") == Self.emulator else { throw .invalidCustomToken("nobody signed it") }
      (claims, signed) = (unsigned, nil)
    } else {
      guard let assertion = AccountAssertion(token) else { throw .invalidCustomToken("it is not signed with RS256") }
      guard let name = assertion.issuer else { throw .invalidCustomToken("its issuer is no service account") }
      guard name.project == project else { throw .credentialMismatch }
      (claims, signed) = (assertion.claims, (assertion, name))
    }
    guard claims.text("sub") == claims.text("iss"), claims.text("aud") == Self.audience else {
      throw .invalidCustomToken("its subject or audience is wrong")
    }
    if let fault = AccountAssertion.fault(ofTimes: claims, at: now) { throw .invalidCustomToken(fault) }
    // Of another tenant's user, who is not the project's.
    guard claims["tenant_id"] == nil else { throw .invalidCustomToken("there are no tenants") }
    guard let localID = claims.text("uid"), AccountFields.localIDs.contains(localID.utf8.count) else {
      throw .invalidCustomToken("its uid is not a text of 1 to \(AccountFields.localIDs.upperBound) bytes")
    }
    self.localID = localID
    self.claims = try Self.claims(claims["claims"])
  }

  private static func claims(_ value: JSONValue?) throws(APIError) -> String? {
    guard let value else { return nil }
    guard let members = value.members else { throw .invalidCustomToken("its claims are not an object") }
    do throws(APIError) { return try CustomClaims.check(members) } catch {
      throw .invalidCustomToken(error.message)
    }
  }
}

extension APIError {
  /// - Parameter fault: what is wrong with it.
  static func invalidCustomToken(_ fault: String) -> APIError {
    APIError(.invalidCustomToken, "the custom token is not good: \(fault)", field: "token")
  }

  static let credentialMismatch = APIError(
    .credentialMismatch, "the custom token is of a service account of another project", field: "token")
}
