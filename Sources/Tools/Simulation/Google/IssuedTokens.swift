import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import Synchronization

final class IssuedTokens: Sendable {
  /// One hour, as Google's.
  static let life = Duration.seconds(3_600)
  private static let maxTokens = 10_000
  private static let randomBytes = 32

  private struct State {
    var expiry = RecentMap<String, UnixTime>(capacity: IssuedTokens.maxTokens)
    var given = 0
    /// Number of tokens before the last revocation, out of `given`.
    var revoked = 0
  }

  private let state = Mutex(State())

  var given: Int { state.withLock { $0.given } }

  func issue(now: UnixTime) -> String {
    let token = "ya29.c." + Base64URL.encode(SecureRandom.bytes(Self.randomBytes))
    state.withLock { state in
      state.expiry[token] = now + Self.life
      state.given += 1
    }
    return token
  }

  func isValid(_ token: String, now: UnixTime) -> Bool {
    state.withLock { $0.expiry[token].map { now < $0 } ?? false }
  }

  func revokeAll() -> Int {
    state.withLock { state in
      defer { state.revoked = state.given }
      state.expiry.removeAll()
      return state.given - state.revoked
    }
  }
}
