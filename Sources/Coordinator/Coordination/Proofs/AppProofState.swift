/// Where the proof of an app stands.
///
/// ```
/// waiting ──┬──> delivered ────┬──> proven ──┬──> expired
///    │      └──> undelivered ──┤             └──> revoked
///    └─────────────────────────┴──> expired, revoked
/// ```
///
/// Whoever returns the secret has received it, whatever was reported of the push: so every state that is not final leads to
/// ``proven``.
enum AppProofState: String, Sendable, CaseIterable {
  /// A push was asked for, and nobody has reported on it.
  case waiting
  /// Apple took the push.
  case delivered
  /// Apple refused the push, or was not reached in time.
  case undelivered
  /// The secret was returned. Receipt and secret may be used again.
  case proven
  /// Too old.
  case expired
  /// Taken back: the device's token is gone, or the configuration says so.
  case revoked

  /// Whether the secret is accepted; the others are final.
  var isLive: Bool {
    switch self {
    case .waiting, .delivered, .undelivered, .proven: true
    case .expired, .revoked: false
    }
  }
}
