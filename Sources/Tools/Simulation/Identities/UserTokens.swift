import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer
import Synchronization

/// Access tokens of a provider's users.
final class UserTokens<Profile: TokenProfile>: Sendable {
  private static var maxTokens: Int { 10_000 }
  private static var randomBytes: Int { 64 }

  struct Grant: Sendable {
    let form: TokenForm
    let profile: Profile
    let issuedAt: Int
    let expiresAt: Int
  }

  private let prefix: String
  private let grants = Mutex(RecentMap<String, Grant>(capacity: maxTokens))

  init(prefix: String) { self.prefix = prefix }

  func issue(_ order: TokenOrder<Profile>, lifetimeSeconds: Int, now: UnixTime) -> String {
    let issuedAt = order.form.issuedAt ?? Int(now.seconds)
    let grant = Grant(
      form: order.form, profile: order.profile, issuedAt: issuedAt,
      expiresAt: issuedAt + (order.form.expiresIn ?? lifetimeSeconds))
    let token = prefix + Base64URL.encode(SecureRandom.bytes(Self.randomBytes))
    grants.withLock { $0[token] = grant }
    return token
  }

  subscript(token: String) -> Grant? { grants.withLock { $0[token] } }
}

extension HTTPServerRequest {
  /// Token in the header, or else in the query.
  var accessToken: String? {
    guard let field = headers["Authorization"] else { return parameter("access_token") }
    let words = field.split(separator: " ")
    return words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : nil
  }
}
