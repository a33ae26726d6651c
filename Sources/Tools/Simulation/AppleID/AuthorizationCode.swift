import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// An authorization code: good once, and for five minutes.
struct AuthorizationCode: Sendable {
  static let lifetime = Duration.seconds(300)

  let text: String
  let clientID: String
  /// Of the authorization request; `nil` for a code that an app got.
  let redirectURI: String?
  let expiresAt: UnixTime
  /// An error that the code is answered with.
  let error: String?
  var isUsed = false

  init(clientID: String, redirectURI: String?, expiresAt: UnixTime, error: String?) {
    text = Self.random("c")
    self.clientID = clientID
    self.redirectURI = redirectURI
    self.expiresAt = expiresAt
    self.error = error
  }

  /// Text of the form that Apple's codes and tokens have.
  static func random(_ prefix: String) -> String {
    "\(prefix)\(Hexadecimal.encode(SecureRandom.bytes(16))).0.\(Base64URL.encode(SecureRandom.bytes(16)))"
  }

  /// Throws why it cannot be exchanged.
  func check(clientID: String, redirectURI given: String?, now: UnixTime) throws(AppleIDError) {
    if let error { throw AppleIDError(name: error) }
    guard clientID == self.clientID else { throw .invalidGrant("The code was issued to another client.") }
    guard !isUsed else { throw .invalidGrant("The code has already been used.") }
    guard now < expiresAt else { throw .invalidGrant("The code has expired or has been revoked.") }
    switch (redirectURI, given) {
    case (nil, nil): return
    case (nil, _): throw .invalidGrant("The code was issued without a redirect_uri.")
    case (let expected, let given) where expected == given: return
    default: throw AppleIDError(name: "invalid_client", description: "The redirect_uri does not match.")
    }
  }

  var json: String {
    """
    {"code":\(JSONString.quote(text)),"clientID":\(JSONString.quote(clientID)),"redirectURI":\(JSONString.quote(redirectURI)),\
    "expiresAt":"\(expiresAt.rfc3339)"}
    """
  }
}
