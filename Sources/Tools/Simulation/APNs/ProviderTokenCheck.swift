import CountersignTelemetry
import HTTPServer
import Synchronization

/// Checks the provider token of a push
/// (https://developer.apple.com/documentation/usernotifications/establishing-a-token-based-connection-to-apns).
///
/// A front (nginx) tells connections apart by a header field; without it, what Apple judges by connection is not checked.
final class ProviderTokenCheck: Sendable {
  static let connectionField = "X-Front-Connection"
  /// A token that is older is refused.
  static let maxAge = Duration.seconds(3_600)
  /// Tokens must not change sooner on a connection.
  static let shortestUse = Duration.seconds(1_200)
  /// How far the sender's clock may be ahead.
  static let clockTolerance = Duration.seconds(60)
  private static let maxConnections = 4_096
  private static let maxTokens = 256

  private struct Token {
    let text: String
    let keyID: String
    let issuedAt: UnixTime
  }

  private struct Connection {
    var token: Token
    /// Once a token was too old, nothing is taken on the connection any more.
    var isSpoilt = false
  }

  private struct State {
    var connections = RecentMap<String, Connection>(capacity: ProviderTokenCheck.maxConnections)
    /// Tokens whose signature was checked.
    var tokens = RecentMap<String, Token>(capacity: ProviderTokenCheck.maxTokens)
  }

  private let keys: TokenKeys
  private let teamID: String
  private let state = Mutex(State())

  init(keys: TokenKeys, teamID: String) {
    self.keys = keys
    self.teamID = teamID
  }

  /// Throws why the request is not authorised.
  func check(_ request: HTTPServerRequest, now: UnixTime) throws(APNsReason) {
    guard let field = request.headers["authorization"] else { throw .missingProviderToken }
    let words = field.split(separator: " ")
    // No token, or another kind of credentials, is as good as no field to Apple.
    guard words.count > 1, words[0].lowercased() == "bearer" else { throw .missingProviderToken }
    guard words.count == 2 else { throw .invalidProviderToken }
    let token = try known(String(words[1]))
    guard token.issuedAt <= now + Self.clockTolerance else { throw .invalidProviderToken }
    guard let connection = request.headers[Self.connectionField] else { return try checkAge(token, now) }
    try check(token, on: connection, now)
  }

  private func checkAge(_ token: Token, _ now: UnixTime) throws(APNsReason) {
    guard now - token.issuedAt <= Self.maxAge else { throw .expiredProviderToken }
  }

  private func check(_ token: Token, on name: String, _ now: UnixTime) throws(APNsReason) {
    try state.withLock { state throws(APNsReason) in
      var connection = state.connections[name] ?? Connection(token: token)
      defer { state.connections[name] = connection }
      guard connection.token.keyID == token.keyID else { throw .unrelatedKeyID }
      connection.isSpoilt = connection.isSpoilt || now - token.issuedAt > Self.maxAge
      guard !connection.isSpoilt else { throw .expiredProviderToken }
      guard connection.token.text != token.text else { return }
      let between = token.issuedAt - connection.token.issuedAt
      guard max(between, .zero - between) >= Self.shortestUse else { throw .tooManyProviderTokenUpdates }
      connection.token = token
    }
  }

  /// The token, its signature and claims checked; its age not.
  private func known(_ text: String) throws(APNsReason) -> Token {
    if let token = state.withLock({ $0.tokens[text] }) { return token }
    guard let (keyID, claims) = keys.verify(text), claims.iss == teamID, let issuedAt = claims.iat else {
      throw .invalidProviderToken
    }
    let token = Token(text: text, keyID: keyID, issuedAt: UnixTime(seconds: issuedAt))
    state.withLock { $0.tokens[text] = token }
    return token
  }
}
