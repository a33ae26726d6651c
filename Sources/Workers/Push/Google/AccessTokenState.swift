import CountersignTelemetry

/// Decides which access token is used and when another one is requested. A plain value: it neither waits nor requests.
///
/// | token | renewal in progress | step of the caller |
/// |---|---|---|
/// | good for a while | – | uses it |
/// | good, and about to expire | no | uses it, and starts the renewal |
/// | good, and about to expire | yes | uses it |
/// | none, or expired | no | starts the renewal and waits |
/// | none, or expired | yes | waits |
struct AccessTokenState: Sendable {
  /// Google's own libraries take from 3:45 (Python) to 5 minutes (Node).
  static let renewalLead: Duration = .seconds(300)
  /// Minimum remaining life of a token that is shown: it might expire on the way.
  static let shortestUse: Duration = .seconds(10)
  /// Pause after a failed renewal, while the token is still good.
  static let pause: Duration = .seconds(30)

  enum Step: Sendable {
    case use(AccessToken)
    /// The token is good. The caller starts its renewal.
    case useAndRenew(AccessToken)
    case wait
    case waitAndRenew
  }

  private var token: AccessToken?
  private var renewsAt = MonotonicTime(nanoseconds: .min)
  private(set) var isRenewing = false

  func step(now: MonotonicTime) -> Step {
    guard let token, token.expiresAt - now > Self.shortestUse else { return isRenewing ? .wait : .waitAndRenew }
    return isRenewing || now < renewsAt ? .use(token) : .useAndRenew(token)
  }

  /// Begins a renewal, which ends with ``endRenewal(with:now:)`` or ``failRenewal(now:)``.
  mutating func beginRenewal() {
    precondition(!isRenewing, "one renewal at a time")
    isRenewing = true
  }

  mutating func endRenewal(with new: AccessToken, now: MonotonicTime) {
    isRenewing = false
    token = new
    // A token with a life about as short as the lead is renewed at half of it.
    renewsAt = new.expiresAt - min(Self.renewalLead, (new.expiresAt - now) / 2)
  }

  /// The old token is used as long as it is good.
  mutating func failRenewal(now: MonotonicTime) {
    isRenewing = false
    renewsAt = now + Self.pause
  }

  /// Drops a token that the API rejected, unless another one has taken its place.
  mutating func drop(_ refused: AccessToken) {
    if token?.number == refused.number { token = nil }
  }
}
