import CommandEngine
import CountersignTelemetry

/// Use of signing keys: each has keys of its own, so that nothing signed for one counts for another.
struct SigningKeyPurpose: Sendable, Hashable {
  let kind: RecordKind
  let all: KeySpace
  /// Place in the order of the keys: of two processes that make the next key, one does.
  let sequence: KeySpace
  /// Tokens that its keys sign, for people.
  let signs: String
  /// Value of the label `purpose` of metrics.
  let label: String
  /// The longest life of what its keys sign.
  let longestLife: Duration

  static let idTokens = SigningKeyPurpose("signingKey", "ID tokens", "id_tokens", IDTokens.lifetime)
  static let cookies = SigningKeyPurpose(
    "cookieKey", "session cookies", "session_cookies", SessionCookies.longestLife)

  private init(_ kind: String, _ signs: String, _ label: String, _ longestLife: Duration) {
    self.kind = RecordKind(kind)
    all = KeySpace(self.kind, "all")
    sequence = KeySpace(self.kind, "sequence")
    self.signs = signs
    self.label = label
    self.longestLife = longestLife
  }

  var certificateName: String { "countersign \(signs)" }

  var group: GroupKey {
    get throws(StoreError) { try GroupKey(all, [1]) }
  }

  /// Time for which a key stays published after the next one has begun to sign: what it signed expires meanwhile.
  var afterlife: Duration { longestLife + SigningKeyRules.slack }
}
