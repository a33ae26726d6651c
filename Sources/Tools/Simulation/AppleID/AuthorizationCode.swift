import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// Authorization code, valid once and for five minutes.
struct AuthorizationCode: Sendable {
  static let lifetime = Duration.seconds(300)

  let text: String
  let clientID: String
  /// Redirect URI of the authorization request; `nil` for a code that an app got.
  let redirectURI: String?
  let expiresAt: UnixTime
  /// Error that the exchange is answered with.
  let error: String?
  var isUsed = false

  init(clientID: String, redirectURI: String?, expiresAt: UnixTime, error: String?) {
    text = Self.random("c")
    self.clientID = clientID
    self.redirectURI = redirectURI
    self.expiresAt = expiresAt
    self.error = error
  }

  /// Random text in the form of Apple's codes and tokens.
  static func random(_ prefix: String) -> String {
    "\(prefix)\(Hexadecimal.encode(SecureRandom.bytes(16))).0.\(Base64URL.encode(SecureRandom.bytes(16)))"
  }

  /// Throws the reason if it cannot be exchanged.
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

/// Body of `POST /control/apple/codes`: issues an authorization code, as after a sign-in.
struct CodeOrder: ControlOrder {
  static let fields: Set<String> = ["clientID", "redirectURI", "lifetimeSeconds", "error"]

  private let clientID: String
  private let redirectURI: String?
  private let lifetimeSeconds: Double?
  private let error: String?

  func code(clients: Set<String>, now: UnixTime) throws(ControlProblem) -> AuthorizationCode {
    guard clients.contains(clientID) else { throw ControlProblem("clientID is not known to the simulator") }
    if let error, !AppleIDError.names.contains(error) {
      throw ControlProblem("error must be one of \(AppleIDError.names.sorted().joined(separator: ", "))")
    }
    let lifetime = try Self.within(lifetimeSeconds, 0...86_400, "lifetimeSeconds")
    let lasting = lifetime.map { Duration.milliseconds(Int64($0 * 1_000)) } ?? AuthorizationCode.lifetime
    return AuthorizationCode(clientID: clientID, redirectURI: redirectURI, expiresAt: now + lasting, error: error)
  }
}
