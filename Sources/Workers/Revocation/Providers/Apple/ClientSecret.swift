import CountersignCryptography
import CountersignTelemetry
import Synchronization

/// The secret that identifies a client to Apple: a short-lived JWT, signed with the team's key
/// (https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret).
///
/// One secret serves all requests for half of its life: signing takes longer than the rest of a request.
final class ClientSecret: Sendable {
  /// Apple allows six months, but minutes are enough for a signer, and of little use to a thief.
  static let life: Duration = .seconds(300)
  /// Apple's own name, whatever address is called.
  static let audience = "https://appleid.apple.com"

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
    let result: Result<Secret, JOSEError> = state.withLock { state in
      // A clock that was set back leaves a secret from the future.
      if let signed = state, now >= signed.issuedAt, now - signed.issuedAt < Self.life / 2 {
        return .success(signed.text)
      }
      do throws(JOSEError) {
        let signed = Signed(text: Secret(try sign(now)), issuedAt: now)
        state = signed
        return .success(signed.text)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  func discard() { state.withLock { $0 = nil } }

  private func sign(_ now: UnixTime) throws(JOSEError) -> String {
    let expiresAt = now + Self.life
    // Nothing here needs escaping: the configuration has checked that.
    let claims =
      #"{"iss":"\#(teamID)","iat":\#(now.seconds),"exp":\#(expiresAt.seconds),"aud":"\#(Self.audience)","#
      + #""sub":"\#(clientID)"}"#
    return try JWS.sign(Array(claims.utf8), with: key)
  }
}
