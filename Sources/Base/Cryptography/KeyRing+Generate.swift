internal import CountersignEncoding
internal import FoundationEssentials

extension KeyRing {
  /// Makes a new key from the system's random generator.
  /// - Parameter kid: its name, 1 to 128 printable ASCII characters; give each key a new one, a date for instance.
  /// - Returns: the key as a JWK, one JSON object. It is a secret.
  /// - Throws: ``JOSEError/Code/badKey`` when the name cannot be used.
  public static func generate(kid: String) throws(JOSEError) -> String {
    try encode(makeJWK(kid: kid))
  }

  /// Puts a new key before those of a set, where it is the one that seals.
  /// - Parameters:
  ///   - json: the set so far; nil to begin one.
  ///   - kid: the new key's name, which no other key of the set has.
  /// - Returns: the new set as JSON. It is a secret.
  /// - Throws: ``JOSEError/Code/badKey`` when the set, or the name, cannot be used.
  public static func rotate(jwkSet json: [UInt8]?, kid: String) throws(JOSEError) -> String {
    var set = JWKSet(keys: [])
    if let json {
      let ring = try KeyRing(jwkSet: json)
      guard ring.opening[kid] == nil else {
        throw JOSEError(.badKey, "the set has a key \"\(kid)\" already: choose another name", keyID: kid)
      }
      set = try JWKSet(json: json)
    }
    guard set.keys.count < maxKeys else {
      throw JOSEError(
        .badKey, "the set has \(maxKeys) keys already: take out those that nothing is sealed with any more")
    }
    set.keys.insert(try makeJWK(kid: kid), at: 0)
    return try encode(set)
  }

  private static func makeJWK(kid: String) throws(JOSEError) -> JWK {
    let bytes = SecureRandom.bytes(SymmetricKey.length)
    // Refuses names that could not be read back.
    _ = try SymmetricKey(id: kid, bytes: bytes)
    return JWK(kty: "oct", kid: kid, use: "enc", alg: JWE.encryption, k: Base64URL.encode(bytes))
  }

  private static func encode(_ value: some Encodable) throws(JOSEError) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      return String(decoding: try encoder.encode(value), as: UTF8.self)
    } catch {
      throw JOSEError(.unavailable, "the key cannot be written as JSON")
    }
  }
}
