import CommandEngine
import CountersignTelemetry

/// Use of signing keys: each has keys of its own, so that nothing signed for one counts for another.
struct SigningKeyPurpose: Sendable, Hashable {
  let kind: RecordKind
  let all: KeySpace
  /// Place in the order of the keys: of two processes that make the next key, one does.
  let sequence: KeySpace
  let certificateName: String
  /// The longest life of what its keys sign.
  let longestLife: Duration

  static let idTokens = SigningKeyPurpose("signingKey", "countersign ID tokens", IDTokens.lifetime)
  static let cookies = SigningKeyPurpose("cookieKey", "countersign session cookies", SessionCookies.longestLife)

  private init(_ kind: String, _ certificateName: String, _ longestLife: Duration) {
    self.kind = RecordKind(kind)
    all = KeySpace(self.kind, "all")
    sequence = KeySpace(self.kind, "sequence")
    self.certificateName = certificateName
    self.longestLife = longestLife
  }

  var group: GroupKey {
    get throws(StoreError) { try GroupKey(all, [1]) }
  }

  /// Time for which a key stays published after the next one has begun to sign: what it signed expires meanwhile.
  var afterlife: Duration { longestLife + SigningKeyRules.slack }
}
