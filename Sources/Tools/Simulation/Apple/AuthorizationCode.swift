import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// Valid once and for five minutes.
struct AuthorizationCode: Sendable {
  static let lifetime = Duration.seconds(300)

  let text: String
  let clientID: String
  /// `nil` for a code that an app got.
  let redirectURI: String?
  let user: TokenOrder<AppleProfile>
  let expiresAt: UnixTime
  /// Error that the exchange is answered with.
  let error: String?
  var isUsed = false

  init(
    clientID: String, redirectURI: String?, user: TokenOrder<AppleProfile>, expiresAt: UnixTime, error: String? = nil
  ) {
    text = Self.random("c")
    self.user = user
    self.clientID = clientID
    self.redirectURI = redirectURI
    self.expiresAt = expiresAt
    self.error = error
  }

  static func random(_ prefix: String) -> String {
    "\(prefix)\(Hexadecimal.encode(SecureRandom.bytes(16))).0.\(Base64URL.encode(SecureRandom.bytes(16)))"
  }

  func check(clientID: String, redirectURI given: String?, now: UnixTime) throws(ProviderError) {
    if let error { throw ProviderError(error) }
    guard clientID == self.clientID else {
      throw ProviderError("invalid_grant", "The code was issued to another client.")
    }
    guard !isUsed else { throw ProviderError("invalid_grant", "The code has already been used.") }
    guard now < expiresAt else { throw ProviderError("invalid_grant", "The code has expired or has been revoked.") }
    switch (redirectURI, given) {
    case (nil, nil): return
    case (nil, _): throw ProviderError("invalid_grant", "The code was issued without a redirect_uri.")
    case (let expected, let given) where expected == given: return
    default: throw ProviderError("invalid_client", "The redirect_uri does not match.")
    }
  }

  var json: String {
    """
    {"code":\(JSONString.quote(text)),"clientID":\(JSONString.quote(clientID)),"redirectURI":\(JSONString.quote(redirectURI)),\
    "subject":\(JSONString.quote(user.form.subject)),"expiresAt":"\(expiresAt.rfc3339)"}
    """
  }
}

/// Body of `POST /control/apple/codes`.
struct CodeOrder: ControlOrder {
  static let fields: Set<String> = ["clientID", "redirectURI", "subject", "email", "lifetimeSeconds", "error"]

  private let clientID: String
  private let redirectURI: String?
  private let subject: String?
  private let email: String?
  private let lifetimeSeconds: Double?
  private let error: String?

  func check() throws(ControlProblem) {
    try Self.require(error, among: AppleIDStub.errors, "error")
    try Self.require(lifetimeSeconds, in: 0...86_400, "lifetimeSeconds")
  }

  /// A user of whom nothing else is known, in the form of Apple's.
  private static func anyone() -> String { "001234.\(Hexadecimal.encode(SecureRandom.bytes(16))).0123" }

  func code(clients: Set<String>, now: UnixTime) throws(ControlProblem) -> AuthorizationCode {
    guard clients.contains(clientID) else { throw ControlProblem("clientID is not known to the simulator") }
    let lasting = lifetimeSeconds.map { Duration.milliseconds(Int64($0 * 1_000)) } ?? AuthorizationCode.lifetime
    let user = TokenForm(subject: subject ?? Self.anyone(), email: email)
    return AuthorizationCode(
      clientID: clientID, redirectURI: redirectURI,
      user: TokenOrder(form: user, profile: AppleProfile(clientID: clientID)), expiresAt: now + lasting, error: error)
  }
}
