import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// Body of `POST /control/apple/notifications`: what Apple tells about a user
/// ("Processing changes for Sign in with Apple accounts", developer.apple.com).
struct AppleNoticeOrder: ControlOrder, Sendable {
  static let fields = TokenForm.fields.union(own)
  static let maxDelaySeconds = 3600.0
  private static let own: Set<String> = [
    "clientID", "type", "isPrivateEmail", "happenedAt", "id", "list", "forged", "url", "duplicate", "delaySeconds",
  ]

  /// Fields beside those of ``TokenForm``.
  private struct Own: Decodable, Sendable {
    let clientID: String
    let type: String
    var isPrivateEmail: Bool?
    var happenedAt: Int?
    var id: String?
    var list: Bool?
    var forged: Bool?
    var url: String?
    var duplicate: Bool?
    var delaySeconds: Double?
  }

  private var form: TokenForm
  private let own: Own

  init(from decoder: any Decoder) throws {
    form = try TokenForm(from: decoder)
    own = try Own(from: decoder)
    if own.forged == true { form.forge() }
  }

  /// Address that it is sent to, if it is.
  var url: String? { own.url }
  var delay: Duration { .milliseconds(Int64((own.delaySeconds ?? 0) * 1000)) }
  /// Number of times that it is sent.
  var times: Int { own.duplicate == true ? 2 : 1 }

  func check() throws(ControlProblem) {
    try form.check()
    try Self.require(own.delaySeconds, in: 0...Self.maxDelaySeconds, "delaySeconds")
  }

  func payload(_ keys: ProviderKeys, now: UnixTime) throws(ControlProblem) -> String {
    do throws(JOSEError) { return try keys.sign(claims(now: now), form) } catch {
      throw ControlProblem(status: 500, error.description)
    }
  }

  private func claims(now: UnixTime) -> [UInt8] {
    let profile = AppleProfile(clientID: own.clientID)
    let issuedAt = form.issuedAt ?? Int(now.seconds)
    let event = String(decoding: event(now: now), as: UTF8.self)
    var claims = JSONObjectWriter()
    claims.put("iss", form.issuer ?? profile.issuer)
    claims.put("aud", profile.audience)
    claims.put("iat", issuedAt)
    claims.put("exp", issuedAt + (form.expiresIn ?? profile.lifetimeSeconds))
    claims.put("jti", own.id ?? Hexadecimal.encode(SecureRandom.bytes(Self.idBytes)))
    claims.put("events", own.list == true ? "[\(event)]" : event)
    return claims.finished()
  }

  private static let idBytes = 16

  private func event(now: UnixTime) -> [UInt8] {
    var event = JSONObjectWriter()
    event.put("type", own.type)
    event.put("sub", form.subject)
    event.put("event_time", own.happenedAt ?? Int(now.milliseconds))
    event.put("email", form.email)
    // Apple writes it as text.
    if let isPrivate = own.isPrivateEmail { event.put("is_private_email", isPrivate ? "true" : "false") }
    return event.finished()
  }
}
