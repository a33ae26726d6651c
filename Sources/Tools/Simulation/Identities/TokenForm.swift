import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// Part of an order that the ID tokens of all providers have.
struct TokenForm: Decodable, Sendable {
  enum Signature: String, Decodable {
    /// `alg` is `none`, and the signature is missing.
    case none
    /// An HMAC under the public key.
    case hs256 = "HS256"
    /// Under the name of the newest key, by one that is not published.
    case foreign
  }

  static let fields: Set<String> = [
    "subject", "nonce", "email", "issuer", "issuedAt", "expiresIn", "keyID", "signature",
  ]
  private static let maxSubject = 255
  private static let maxSeconds = 10_000_000_000

  let subject: String
  private(set) var nonce: String?
  private(set) var email: String?
  private(set) var issuer: String?
  /// Seconds since 1970.
  private(set) var issuedAt: Int?
  /// Seconds from `issuedAt`. They may be negative.
  private(set) var expiresIn: Int?
  /// Name of a key that is not published.
  private(set) var keyID: String?
  private(set) var signature: Signature?
  /// Claim `at_hash`, which no order has.
  var accessTokenHash: String?

  init(subject: String, email: String?) {
    self.subject = subject
    self.email = email
  }

  func check() throws(ControlProblem) {
    guard (1...Self.maxSubject).contains(subject.utf8.count) else {
      throw ControlProblem("subject must have 1 to \(Self.maxSubject) bytes")
    }
    for (name, value) in [("issuedAt", issuedAt), ("expiresIn", expiresIn)] {
      guard let value, !(-Self.maxSeconds...Self.maxSeconds).contains(value) else { continue }
      throw ControlProblem("\(name) must be from \(-Self.maxSeconds) to \(Self.maxSeconds)")
    }
  }

  /// Has it signed by a key that is not published.
  mutating func forge() { signature = .foreign }

  /// Takes what a request has brought, where the order says nothing else. An empty nonce stands for none.
  mutating func complete(nonce given: String? = nil, issuer own: String?, hasAddress: Bool = true) {
    nonce = nonce.map { $0.isEmpty ? nil : $0 } ?? given
    issuer = issuer ?? own
    if !hasAddress { email = nil }
  }

  func claims(_ profile: some TokenProfile, now: UnixTime) -> [UInt8] {
    let issuedAt = issuedAt ?? Int(now.seconds)
    var claims = JSONObjectWriter()
    claims.put("iss", issuer ?? profile.issuer)
    claims.put("sub", subject)
    claims.put("aud", profile.audience)
    claims.put("iat", issuedAt)
    claims.put("exp", issuedAt + (expiresIn ?? profile.lifetimeSeconds))
    claims.put("nonce", nonce)
    claims.put("email", email)
    claims.put("at_hash", accessTokenHash)
    profile.put(into: &claims, self, issuedAt: issuedAt)
    return claims.finished()
  }
}

/// A provider's own part of its ID tokens.
protocol TokenProfile: Decodable, Sendable {
  static var fields: Set<String> { get }

  var issuer: String { get }
  var audience: String { get }
  var lifetimeSeconds: Int { get }

  func put(into claims: inout JSONObjectWriter, _ form: TokenForm, issuedAt: Int)
}

/// Body of a request for an ID token or access token of a user.
struct TokenOrder<Profile: TokenProfile>: ControlOrder {
  static var fields: Set<String> { TokenForm.fields.union(Profile.fields) }

  let form: TokenForm
  let profile: Profile

  init(form: TokenForm, profile: Profile) {
    self.form = form
    self.profile = profile
  }

  init(from decoder: any Decoder) throws {
    form = try TokenForm(from: decoder)
    profile = try Profile(from: decoder)
  }

  func check() throws(ControlProblem) { try form.check() }

  func idToken(_ keys: ProviderKeys, now: UnixTime) throws(ControlProblem) -> String {
    do throws(JOSEError) { return try keys.sign(form.claims(profile, now: now), form) } catch {
      throw ControlProblem(status: 500, error.description)
    }
  }
}
