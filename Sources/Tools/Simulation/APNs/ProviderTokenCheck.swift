import CountersignTelemetry
import HTTPServer
import Synchronization

/// Checks the provider token of a push
/// (https://developer.apple.com/documentation/usernotifications/establishing-a-token-based-connection-to-apns).
///
/// A front (nginx) distinguishes connections by a header field; without it, rules that Apple applies by connection are
/// not checked.
final class ProviderTokenCheck: Sendable {
  static let connectionField = "X-Front-Connection"
  static let maxAge = Duration.seconds(3_600)
  /// Minimum time between different tokens on a connection.
  static let shortestUse = Duration.seconds(1_200)
  static let clockTolerance = Duration.seconds(60)
  private static let maxConnections = 4_096
  private static let maxTokens = 256

  private struct Token {
    let text: String
    let keyID: String
    let issuedAt: UnixTime
  }

  private struct PushConnection {
    var token: Token
    /// Whether a token was too old, after which the connection takes nothing.
    var isSpoilt = false
  }

  private struct State {
    var connections = RecentMap<String, PushConnection>(capacity: ProviderTokenCheck.maxConnections)
    var tokens = RecentMap<String, Token>(capacity: ProviderTokenCheck.maxTokens)
  }

  private let keys: TokenKeys
  private let teamID: String
  private let state = Mutex(State())

  init(keys: TokenKeys, teamID: String) {
    self.keys = keys
    self.teamID = teamID
  }

  func check(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) {
    guard let field = request.headers["authorization"] else { throw .apns("MissingProviderToken") }
    let words = field.split(separator: " ")
    // To Apple, a missing token and other credentials are the same.
    guard words.count > 1, words[0].lowercased() == "bearer" else { throw .apns("MissingProviderToken") }
    guard words.count == 2 else { throw .apns("InvalidProviderToken") }
    let token = try known(String(words[1]))
    guard token.issuedAt <= now + Self.clockTolerance else { throw .apns("InvalidProviderToken") }
    guard let connection = request.headers[Self.connectionField] else { return try checkAge(token, now) }
    try check(token, on: connection, now)
  }

  private func checkAge(_ token: Token, _ now: UnixTime) throws(ProviderError) {
    guard now - token.issuedAt <= Self.maxAge else { throw .apns("ExpiredProviderToken") }
  }

  private func check(_ token: Token, on name: String, _ now: UnixTime) throws(ProviderError) {
    try state.withLock { state throws(ProviderError) in
      var connection = state.connections[name] ?? PushConnection(token: token)
      defer { state.connections[name] = connection }
      guard connection.token.keyID == token.keyID else { throw .apns("UnrelatedKeyIdInToken") }
      connection.isSpoilt = connection.isSpoilt || now - token.issuedAt > Self.maxAge
      guard !connection.isSpoilt else { throw .apns("ExpiredProviderToken") }
      guard connection.token.text != token.text else { return }
      let between = token.issuedAt - connection.token.issuedAt
      guard max(between, .zero - between) >= Self.shortestUse else { throw .apns("TooManyProviderTokenUpdates") }
      connection.token = token
    }
  }

  /// Signature and claims are checked, but not its age.
  private func known(_ text: String) throws(ProviderError) -> Token {
    if let token = state.withLock({ $0.tokens[text] }) { return token }
    guard let (keyID, claims) = keys.verify(text), claims.iss == teamID, let issuedAt = claims.iat else {
      throw .apns("InvalidProviderToken")
    }
    let token = Token(text: text, keyID: keyID, issuedAt: UnixTime(seconds: issuedAt))
    state.withLock { $0.tokens[text] = token }
    return token
  }
}
