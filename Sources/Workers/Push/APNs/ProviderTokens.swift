import CountersignCryptography
import CountersignTelemetry
import Synchronization

/// The tokens by which one team's key is known to Apple: at any time one, which all connections of the process show.
///
/// Apple takes a token for an hour, and refuses whoever makes a new one more often than every 20 minutes (TooManyProviderTokenUpdates).
/// So it is renewed between 20 and 60 minutes of age, never sooner.
final class ProviderTokens: Sendable {
  /// No new token is made sooner after another.
  static let shortestLife: Duration = .seconds(20 * 60)
  /// Apple takes none that is older.
  static let longestLife: Duration = .seconds(60 * 60)

  /// What comes of a token that Apple calls expired.
  enum Verdict: Sendable, Hashable {
    /// A new one is made now: connections that have shown the old one are to be replaced.
    case renewed
    /// Somebody else has made a new one meanwhile.
    case replaced
    /// It is too young for that; the clock of this machine may be wrong.
    case tooYoung
  }

  /// The ten characters by which Apple knows the team.
  let teamID: String
  private let key: SigningKey
  private let life: Duration
  private let state = Mutex<(token: ProviderToken?, made: Int)>((nil, 0))

  /// - Parameters:
  ///   - teamID: The team's ID.
  ///   - key: The team's key with its ID.
  ///   - life: At which age a token is renewed: 20 to 60 minutes.
  init(teamID: String, key: SigningKey, life: Duration) {
    precondition(
      (Self.shortestLife..<Self.longestLife).contains(life), "a provider token is renewed at 20 to 60 minutes")
    self.teamID = teamID
    self.key = key
    self.life = life
  }

  /// How many were made, for metrics.
  var made: Int { state.withLock { $0.made } }

  /// The token to show now.
  /// - Throws: when OpenSSL cannot sign.
  func current(now: UnixTime) throws(JOSEError) -> ProviderToken {
    // Signed inside the lock, so that all who come at once get the same one.
    let result: Result<ProviderToken, JOSEError> = state.withLock { state in
      if let token = state.token, !isDue(token, now) { return .success(token) }
      do throws(JOSEError) {
        let token = ProviderToken(text: Secret(try sign(now)), issuedAt: now)
        state = (token, state.made + 1)
        return .success(token)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Apple calls a token expired.
  func expired(_ token: ProviderToken, now: UnixTime) -> Verdict {
    state.withLock { state in
      guard let current = state.token, current.issuedAt == token.issuedAt else { return .replaced }
      guard now - current.issuedAt >= Self.shortestLife else { return .tooYoung }
      state.token = nil
      return .renewed
    }
  }

  /// A clock that was set far back leaves a token of the future, which Apple does not take either.
  private func isDue(_ token: ProviderToken, _ now: UnixTime) -> Bool {
    let age = now - token.issuedAt
    return age >= life || age <= .zero - Self.shortestLife
  }

  private func sign(_ now: UnixTime) throws(JOSEError) -> String {
    // A team ID is letters and digits, so there is nothing to escape.
    try JWS.sign(Array(#"{"iss":"\#(teamID)","iat":\#(now.seconds)}"#.utf8), with: key)
  }
}

/// A token that shows Apple who sends.
struct ProviderToken: Sendable {
  let text: Secret
  let issuedAt: UnixTime
}
