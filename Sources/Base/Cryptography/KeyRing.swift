/// The keys of a JWK Set (RFC 7517): one seals, all open. That is how keys rotate: the new one is put first, and the old ones stay
/// until nothing that they sealed is left.
///
/// With random 96-bit IVs a key must not seal more than 2³² texts (NIST SP 800-38D, section 8.3): at 100 a second that is a year.
public struct KeyRing: Sendable, CustomStringConvertible {
  /// The largest set in bytes.
  public static let maxSetBytes = 65_536
  /// The largest number of keys in a set.
  public static let maxKeys = 64

  /// The key that seals, nil in a ring that can only open.
  public let sealing: SymmetricKey?
  /// The keys that open, by their IDs. The sealing one is among them.
  public let opening: [String: SymmetricKey]

  /// Whether what is not sealed at all is refused where a sealed text is looked for.
  public var requiresSealing = false

  /// - Parameters:
  ///   - sealing: the key that seals.
  ///   - others: more keys that open.
  /// - Throws: ``JOSEError/Code/badKey`` when two have the same ID.
  public init(sealing: SymmetricKey?, others: [SymmetricKey] = []) throws(JOSEError) {
    var opening: [String: SymmetricKey] = [:]
    for key in [sealing].compactMap(\.self) + others {
      guard opening.updateValue(key, forKey: key.id) == nil else {
        throw JOSEError(.badKey, "two keys have the kid \"\(key.id)\": give each its own", keyID: key.id)
      }
    }
    self.sealing = sealing
    self.opening = opening
  }

  /// Reads `{"keys": [{"kty": "oct", "kid": "…", "alg": "A256GCM", "k": "…"}]}`. The first key seals, all open.
  /// - Parameter json: the set, at most 64 KiB and 64 keys.
  /// - Throws: ``JOSEError/Code/badKey``, naming the key and what is wrong with it.
  public init(jwkSet json: [UInt8]) throws(JOSEError) {
    guard json.count <= Self.maxSetBytes else {
      throw JOSEError(.badKey, "the JWK set is larger than \(Self.maxSetBytes) bytes")
    }
    guard OpenSSL.isComplete else { throw JOSEError(.unavailable, "\(OpenSSL.missing)") }
    let set = try JWKSet(json: json)
    guard (1...Self.maxKeys).contains(set.keys.count) else {
      throw JOSEError(.badKey, "the JWK set has \(set.keys.count) keys instead of 1 to \(Self.maxKeys)")
    }
    var keys: [SymmetricKey] = []
    for (index, key) in set.keys.enumerated() { keys.append(try key.symmetricKey(at: index)) }
    try self.init(sealing: keys.first, others: Array(keys.dropFirst()))
  }

  public var description: String {
    "KeyRing(sealing: \(sealing?.id ?? "none"), opening: \(opening.keys.sorted().joined(separator: ", ")))"
  }
}
