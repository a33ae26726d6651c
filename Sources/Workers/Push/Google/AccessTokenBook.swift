import CountersignTelemetry

/// Decides which access token is used and when another one is asked for. A plain value: it neither waits nor asks.
///
/// | token | renewal under way | what the caller does |
/// |---|---|---|
/// | good for a while | – | uses it |
/// | good, and about to expire | no | uses it, and starts the renewal |
/// | good, and about to expire | yes | uses it |
/// | none, or expired | no | starts the renewal and waits |
/// | none, or expired | yes | waits |
struct AccessTokenBook: Sendable {
  /// A token is renewed so long before it expires. Google's own libraries take from 3:45 (Python) to 5 minutes (Node).
  static let renewalLead: Duration = .seconds(300)
  /// A token that expires sooner is not shown any more: it might on the way.
  static let shortestUse: Duration = .seconds(10)
  /// After a renewal that failed, while the token is still good, the next one begins so much later.
  static let pause: Duration = .seconds(30)

  enum Step: Sendable {
    case use(AccessToken)
    /// The token is good; the caller sees to the next one.
    case useAndRenew(AccessToken)
    case wait
    case waitAndRenew
  }

  private var token: AccessToken?
  private var renewsAt = MonotonicTime(nanoseconds: .min)
  private(set) var isRenewing = false

  /// What a caller has to do now.
  func step(now: MonotonicTime) -> Step {
    guard let token, token.expiresAt - now > Self.shortestUse else { return isRenewing ? .wait : .waitAndRenew }
    return isRenewing || now < renewsAt ? .use(token) : .useAndRenew(token)
  }

  /// A renewal begins; it ends with ``renewed(_:now:)`` or ``failed(now:)``.
  mutating func begin() {
    precondition(!isRenewing, "one renewal at a time")
    isRenewing = true
  }

  /// A new token has come.
  mutating func renewed(_ new: AccessToken, now: MonotonicTime) {
    isRenewing = false
    token = new
    // A token that lives so short that the lead would eat up its life is renewed at half of it.
    renewsAt = new.expiresAt - min(Self.renewalLead, (new.expiresAt - now) / 2)
  }

  /// None has come. The old one goes on to be used as long as it is good.
  mutating func failed(now: MonotonicTime) {
    isRenewing = false
    renewsAt = now + Self.pause
  }

  /// The API does not take a token: unless another one has come meanwhile, there is none now.
  mutating func rejected(_ refused: AccessToken) {
    if token?.number == refused.number { token = nil }
  }
}
