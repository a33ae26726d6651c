import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import Synchronization

/// Page of a provider: the users whom tests have ordered, and the codes that are out.
final class ProviderPage<Profile: PageProfile>: Sendable {
  private static var maxOrders: Int { 1_000 }
  private static var maxCodes: Int { 10_000 }
  private static var lifetime: Duration { .seconds(600) }
  private static var randomBytes: Int { 32 }

  /// A user's consent to a request.
  struct Consent: Sendable {
    let request: AuthorizationRequest
    /// `nil` for that of the profile.
    let issuer: String?
    let order: PageOrder<Profile>

    var scopes: Set<Substring> { request.scopes }

    /// The form of the ID token, as far as no other was ordered.
    func form(accessToken: String?) -> TokenForm {
      var form = order.token.form
      form.complete(
        nonce: request["nonce"], issuer: issuer,
        hasAddress: scopes.contains { $0 == "email" || $0.hasSuffix(".email") })
      form.accessTokenHash = accessToken.map { Base64URL.encode(Array(SHA256.hash(Array($0.utf8)).prefix(16))) }
      return form
    }

    func idToken(_ keys: ProviderKeys, accessToken: String?, now: UnixTime) throws(JOSEError) -> String {
      let form = form(accessToken: accessToken)
      return try keys.sign(form.claims(order.token.profile.limited(to: scopes), now: now), form)
    }

    func accessToken(_ users: UserTokens<Profile>, lifetimeSeconds: Int, now: UnixTime) -> String {
      var form = form(accessToken: nil)
      if let other = order.userinfoSubject { form = TokenForm(subject: other, email: form.email) }
      return users.issue(
        TokenOrder(form: form, profile: order.token.profile.limited(to: scopes)), lifetimeSeconds: lifetimeSeconds,
        now: now)
    }
  }

  private struct Code {
    let consent: Consent
    let expiresAt: UnixTime
    var isUsed = false
  }

  private struct State {
    var orders: [PageOrder<Profile>] = []
    var codes = RecentMap<String, Code>(capacity: ProviderPage.maxCodes)
    /// Clients and users who have met.
    var known = RecentMap<String, Bool>(capacity: ProviderPage.maxCodes)
  }

  private let state = Mutex(State())

  func add(_ order: PageOrder<Profile>) throws(ControlProblem) {
    try state.withLock { state throws(ControlProblem) in
      guard state.orders.count < Self.maxOrders else {
        throw ControlProblem("there are \(Self.maxOrders) users already")
      }
      state.orders.append(order)
    }
  }

  func clear() { state.withLock { $0.orders = [] } }

  /// The user who was ordered first, or else anybody.
  func consent(to request: AuthorizationRequest, issuer: String?) -> Consent {
    let order = state.withLock { state -> PageOrder<Profile>? in
      let hint = request["login_hint"]
      return state.orders.firstIndex { $0.loginHint == nil || $0.loginHint == hint }.map { state.orders.remove(at: $0) }
    }
    return Consent(request: request, issuer: issuer, order: order ?? PageOrder(request))
  }

  /// Whether the user has met this client never before.
  func meet(_ consent: Consent) -> Bool {
    state.withLock { state in
      let pair = "\(consent.request.clientID) \(consent.order.token.form.subject)"
      defer { state.known[pair] = true }
      return state.known[pair] == nil
    }
  }

  func issue(_ consent: Consent, now: UnixTime) -> String {
    let code = Base64URL.encode(SecureRandom.bytes(Self.randomBytes))
    state.withLock { $0.codes[code] = Code(consent: consent, expiresAt: now + Self.lifetime) }
    return code
  }

  /// Takes a code once (RFC 6749, section 4.1.3; RFC 7636, section 4.6).
  func exchange(_ form: Form, clientID: String, now: UnixTime) throws(ProviderError) -> Consent {
    guard let text = form["code"] else { throw ProviderError("invalid_request", "code is required") }
    return try state.withLock { state throws(ProviderError) in
      guard var code = state.codes[text] else { throw ProviderError("invalid_grant", "The code is not known.") }
      let request = code.consent.request
      guard request.clientID == clientID else {
        throw ProviderError("invalid_grant", "The code was issued to another client.")
      }
      guard !code.isUsed else { throw ProviderError("invalid_grant", "The code has been used.") }
      guard now < code.expiresAt else { throw ProviderError("invalid_grant", "The code has expired.") }
      guard form["redirect_uri"] == request.redirectURI else {
        throw ProviderError("invalid_grant", "The redirect_uri is another than the page's.")
      }
      guard Self.isProven(request["code_challenge"], form["code_verifier"]) else {
        throw ProviderError("invalid_grant", "The code_verifier does not match.")
      }
      code.isUsed = true
      state.codes[text] = code
      return code.consent
    }
  }

  /// A verifier that no challenge has asked for is refused too, as OAuth 2.1 wants it.
  private static func isProven(_ challenge: String?, _ verifier: String?) -> Bool {
    switch (challenge, verifier) {
    case (nil, nil): true
    case (let challenge?, let verifier?): Base64URL.encode(SHA256.hash(Array(verifier.utf8))) == challenge
    default: false
    }
  }
}
