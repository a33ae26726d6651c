/// State of an app's proof.
///
/// ```
/// waiting ──┬──> delivered ────┬──> proven ──┬──> expired
///    │      └──> undelivered ──┤             └──> revoked
///    └─────────────────────────┴──> expired, revoked
/// ```
///
/// A returned secret was received, whatever was reported on the push: so every state that is not final leads to
/// ``proven``.
enum AppProofState: String, Sendable, CaseIterable {
  /// A push was requested, and not reported on yet.
  case waiting
  /// Apple accepted the push.
  case delivered
  /// Apple refused the push, or could not be reached in time.
  case undelivered
  /// The secret was returned. Receipt and secret may be used again.
  case proven
  /// The receipt is too old.
  case expired
  /// The device's token is gone, or the configuration revoked the receipt.
  case revoked

  /// Whether the secret is accepted; all other states are final.
  var isLive: Bool {
    switch self {
    case .waiting, .delivered, .undelivered, .proven: true
    case .expired, .revoked: false
    }
  }
}
