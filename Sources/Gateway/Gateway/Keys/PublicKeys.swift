import CountersignMessages

struct PublicKeys: Sendable {
  let keys: [KeysPublished.Key]
  /// Keys of session cookies. Empty while there are none.
  let cookieKeys: [KeysPublished.Key]
  /// Seconds for which verifiers may keep them.
  let maxAge: Int

  init?(_ published: KeysPublished) {
    guard !published.keys.isEmpty else { return nil }
    keys = published.keys
    cookieKeys = published.cookieKeys ?? []
    maxAge = max(0, published.maxAge)
  }

  /// JWK set (RFC 7517).
  static func jwkSet(_ keys: [KeysPublished.Key]) -> CallAnswer {
    var answer = CallAnswer()
    answer.put("keys", objects: keys.map(Self.jwk), evenIfEmpty: true)
    return answer
  }

  /// X.509 certificates in PEM, by key ID.
  static func certificates(_ keys: [KeysPublished.Key]) -> CallAnswer {
    var answer = CallAnswer()
    for key in keys { answer.put(key.id, key.certificate) }
    return answer
  }

  private static func jwk(_ key: KeysPublished.Key) -> CallAnswer {
    var jwk = CallAnswer()
    jwk.put("kty", "RSA")
    jwk.put("alg", "RS256")
    jwk.put("use", "sig")
    jwk.put("kid", key.id)
    jwk.put("n", key.n)
    jwk.put("e", key.e)
    return jwk
  }
}
