import CountersignCryptography
import CountersignTelemetry
import Synchronization

/// Secrets of a client of Sign in with Apple. Each serves all requests for half of its life: signing takes longer than
/// the rest of a request.
final class ClientSecret: Sendable {
  static let life: Duration = .seconds(AppleClientSecret.life)

  private struct Signed {
    var text: Secret
    var issuedAt: UnixTime
  }

  private let teamID: String
  private let clientID: String
  private let key: SigningKey
  private let state = Mutex<Signed?>(nil)

  init(teamID: String, clientID: String, key: SigningKey) {
    self.teamID = teamID
    self.clientID = clientID
    self.key = key
  }

  func current(now: UnixTime) throws(JOSEError) -> Secret {
    // Signed inside the lock, so that concurrent callers get the same one.
    try state.withLock { state throws(JOSEError) in
      // A clock that was set back leaves a secret from the future.
      if let signed = state, now >= signed.issuedAt, now - signed.issuedAt < Self.life / 2 { return signed.text }
      let text = try AppleClientSecret.sign(teamID: teamID, clientID: clientID, issuedAt: now.seconds, with: key)
      let signed = Signed(text: Secret(text), issuedAt: now)
      state = signed
      return signed.text
    }
  }

  func discard() { state.withLock { $0 = nil } }
}
