import CountersignEncoding
import FoundationEssentials

/// The keys of a JWK Set (RFC 7517): the first seals, all open. Keys rotate by putting a new one first and keeping the
/// old ones until nothing that they sealed is left.
///
/// With random 96-bit IVs a key must not seal more than 2³² texts (NIST SP 800-38D, section 8.3).
public struct KeyRing: Sendable, CustomStringConvertible {
  /// The largest set in bytes.
  public static let maxSetBytes = 65_536
  /// The largest number of keys in a set.
  public static let maxKeys = 64

  /// The key that seals, nil in a ring that can only open.
  public let sealing: SymmetricKey?
  /// The keys that open, by their IDs. The sealing one is among them.
  public let opening: [String: SymmetricKey]

  /// Whether an unsealed text is refused where a sealed one is expected.
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
        .badKey, "the set has \(maxKeys) keys already: remove those that are no longer used")
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
