import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Makes the tokens of sessions, and verifies ID tokens.
struct IDTokens: Sendable {
  static let lifetime = Duration.seconds(3600)
  static let maxBytes = 16_384
  /// The longest subject that verifiers take.
  static let maxSubject = 128
  /// Time by which a token may be from the future: clocks of several hosts differ.
  static let maxSkew = Duration.seconds(300)

  let keys: SigningKeys
  let refreshTokens: RefreshTokens

  static func issuer(of project: String) -> String { "https://securetoken.google.com/\(project)" }

  /// Makes an ID token for a session, and its refresh token, sealed to the requester.
  func tokens(
    for account: AccountRecord, _ session: SessionRecord, sealedFor seal: ReplySeal, at now: UnixTime
  ) throws(StoreError) -> SessionTokens {
    let idToken = try idToken(for: account, session, at: now)
    return SessionTokens(
      idToken: try seal.seal(idToken), refreshToken: try seal.seal(refreshTokens.make(for: session)),
      expiresIn: Int(Self.lifetime.components.seconds))
  }

  func idToken(
    for account: AccountRecord, _ session: SessionRecord, at now: UnixTime
  ) throws(StoreError) -> Secret {
    guard let key = keys.signing(at: now) else { throw StoreError(.content, "no key signs ID tokens") }
    do throws(JOSEError) {
      return Secret(try JWS.sign(Self.claims(of: account, session, at: now), with: key, header: ["typ": "JWT"]))
    } catch {
      throw StoreError(.content, "an ID token cannot be signed: \(error)")
    }
  }

  // MARK: Claims

  /// The claims as JSON.
  ///
  /// A token is never from before the time since which tokens of the account are valid: with clocks of two hosts, a
  /// fresh one would be void. Nor is its sign-in from after it: verifiers refuse that.
  private static func claims(of account: AccountRecord, _ session: SessionRecord, at now: UnixTime) -> [UInt8] {
    let issuedAt = max(now, account.validSince).seconds
    var claims = ClaimsWriter()
    if let name = account.displayName { claims.put("name", name) }
    if let picture = account.photoURL { claims.put("picture", picture) }
    if account.isAnonymous { claims.put("provider_id", SignInProvider.anonymous.name) }
    claims.put("iss", issuer(of: account.project))
    claims.put("aud", account.project)
    claims.put("auth_time", min(session.authTime.seconds, issuedAt))
    claims.put("user_id", account.localID)
    claims.put("sub", account.localID)
    claims.put("iat", issuedAt)
    claims.put("exp", issuedAt + lifetime.components.seconds)
    claims.put("sid", session.id.text)
    if let number = account.phoneNumber { claims.put("phone_number", number) }
    let identities = account.phoneNumber.map { #""phone":[\#(JSONString.quote($0))]"# } ?? ""
    claims.put(
      "firebase",
      json: #"{"identities":{\#(identities)},"sign_in_provider":\#(JSONString.quote(session.provider.name))}"#)
    return claims.finished()
  }

  /// A JSON object, member by member.
  private struct ClaimsWriter {
    private var json: [UInt8] = []

    init() {
      json.reserveCapacity(640)
    }

    mutating func put(_ name: String, _ text: String) {
      begin(name)
      JSONString.append(text, to: &json)
    }

    mutating func put(_ name: String, _ number: Int64) { put(name, json: String(number)) }

    mutating func put(_ name: String, json text: String) {
      begin(name)
      json.append(contentsOf: text.utf8)
    }

    private mutating func begin(_ name: String) {
      json.append(UInt8(ascii: json.isEmpty ? "{" : ","))
      JSONString.append(name, to: &json)
      json.append(UInt8(ascii: ":"))
    }

    func finished() -> [UInt8] { json + [UInt8(ascii: "}")] }
  }
}
