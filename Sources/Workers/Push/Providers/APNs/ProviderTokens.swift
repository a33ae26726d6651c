import CountersignCryptography
import CountersignTelemetry
import Synchronization

/// Provider tokens of one team key. One token is current at any time, and all connections of the process show it.
///
/// Apple takes a token for an hour, and refuses a sender that makes a new one more often than every 20 minutes
/// (TooManyProviderTokenUpdates). A token is therefore renewed at an age between 20 and 60 minutes, never sooner.
final class ProviderTokens: Sendable {
  static let shortestLife: Duration = .seconds(20 * 60)
  /// Age from which Apple refuses a token.
  static let longestLife: Duration = .seconds(60 * 60)

  enum Verdict: Sendable, Hashable {
    /// The next caller makes a new one: connections that have shown the old one must be replaced.
    case renewed
    /// A new one has been made meanwhile.
    case replaced
    /// It is too young to be expired. The clock of this machine may be wrong.
    case tooYoung
  }

  let teamID: String
  var keyID: String? { key.id }
  private let key: SigningKey
  private let life: Duration
  private let state = Mutex<(token: ProviderToken?, made: Int)>((nil, 0))

  init(teamID: String, key: SigningKey, life: Duration) {
    precondition(
      (Self.shortestLife..<Self.longestLife).contains(life), "a provider token is renewed at 20 to 60 minutes")
    self.teamID = teamID
    self.key = key
    self.life = life
  }

  var made: Int { state.withLock { $0.made } }

  func current(now: UnixTime) throws(JOSEError) -> ProviderToken {
    // Signed inside the lock, so that concurrent callers get the same one.
    try state.withLock { state throws(JOSEError) in
      if let token = state.token, !isDue(token, now) { return token }
      let token = ProviderToken(text: Secret(try sign(now)), issuedAt: now)
      state = (token, state.made + 1)
      return token
    }
  }

  func markExpired(_ token: ProviderToken, now: UnixTime) -> Verdict {
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

struct ProviderToken: Sendable {
  let text: Secret
  let issuedAt: UnixTime
}
