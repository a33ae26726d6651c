import CountersignEncoding

/// Private keys of a JWK Set (RFC 7517): all open. That is how keys rotate: the new one is put first, the public set
/// is given to those who seal, and the old ones stay until nothing that was sealed to them is left.
public struct PrivateSealingKeys: Sendable, CustomStringConvertible {
  /// Keys in the order of the set. The first one is the one that others are to seal to.
  private let keys: [PrivateSealingKey]
  private let byID: [String: PrivateSealingKey]

  /// - Throws: ``JOSEError/Code/badKey`` when there is no key, or two have the same ID.
  public init(_ keys: [PrivateSealingKey]) throws(JOSEError) {
    byID = try SealingKeySet.byID(keys, \.id)
    self.keys = keys
  }

  /// Reads `{"keys": [{"kty": "EC", "crv": "P-256", "kid": "…", "x": "…", "y": "…", "d": "…"}]}`.
  /// - Parameter json: at most 64 KiB and 64 keys.
  /// - Throws: ``JOSEError/Code/badKey``.
  public init(jwkSet json: [UInt8]) throws(JOSEError) {
    var keys: [PrivateSealingKey] = []
    for jwk in try SealingKeySet.read(json) { keys.append(try PrivateSealingKey(jwk)) }
    try self.init(keys)
  }

  public subscript(id: String) -> PrivateSealingKey? { byID[id] }

  /// The first key.
  public var first: PrivateSealingKey? { keys.first }

  /// The public keys, the one that others are to seal to first.
  public var publicKeys: [PublicSealingKey] { keys.map(\.publicKey) }

  /// The public keys as a JWK Set, for those who seal.
  public var publicSet: String { SealingKeySet.text(publicKeys.map(\.jwk)) }

  /// The set as JSON. It is a secret.
  /// - Throws: ``JOSEError/Code/unavailable``.
  public func jwkSet() throws(JOSEError) -> String {
    var members: [String] = []
    for key in keys { members.append(try key.jwk()) }
    return SealingKeySet.text(members)
  }

  /// The set with a new key before those it has.
  /// - Parameters:
  ///   - keys: the set so far; `nil` to begin one.
  ///   - id: the new key's name, which no other key of the set has.
  /// - Throws: ``JOSEError/Code/badKey`` when the name cannot be used, or the set is full.
  public static func rotate(_ keys: PrivateSealingKeys?, id: String) throws(JOSEError) -> PrivateSealingKeys {
    try PrivateSealingKeys([.generate(id: id)] + (keys?.keys ?? []))
  }

  public var description: String { "PrivateSealingKeys(\(keys.map(\.id).joined(separator: ", ")))" }
}

/// Public keys of a JWK Set: the first one is sealed to.
public struct PublicSealingKeys: Sendable, CustomStringConvertible {
  private let keys: [PublicSealingKey]

  /// Reads `{"keys": [{"kty": "EC", "crv": "P-256", "kid": "…", "x": "…", "y": "…"}]}`.
  /// - Parameter json: at most 64 KiB and 64 keys, none of them private.
  /// - Throws: ``JOSEError/Code/badKey``.
  public init(jwkSet json: [UInt8]) throws(JOSEError) {
    var keys: [PublicSealingKey] = []
    for jwk in try SealingKeySet.read(json) { keys.append(try PublicSealingKey(jwk)) }
    _ = try SealingKeySet.byID(keys, \.id)
    self.keys = keys
  }

  /// Key to seal to.
  public var sealing: PublicSealingKey? { keys.first }

  public var description: String { "PublicSealingKeys(\(keys.map(\.id).joined(separator: ", ")))" }
}

private enum SealingKeySet {
  private struct Set: Decodable {
    var keys: [AsymmetricJWK]
  }

  static func read(_ json: [UInt8]) throws(JOSEError) -> [AsymmetricJWK] {
    guard json.count <= KeyRing.maxSetBytes else {
      throw JOSEError(.badKey, "the JWK set is larger than \(KeyRing.maxSetBytes) bytes")
    }
    // The decoder's error would quote a secret.
    guard let set = try? JSONReader(maxBytes: KeyRing.maxSetBytes).decode(Set.self, from: json) else {
      let form = #"{"keys": [{"kty": "EC", "crv": "P-256", "kid": "…", "x": "…", "y": "…"}]}"#
      throw JOSEError(.badKey, "the JWK set is not of the form \(form)")
    }
    return set.keys
  }

  static func byID<Key>(_ keys: [Key], _ id: (Key) -> String) throws(JOSEError) -> [String: Key] {
    guard (1...KeyRing.maxKeys).contains(keys.count) else {
      throw JOSEError(.badKey, "the JWK set has \(keys.count) keys instead of 1 to \(KeyRing.maxKeys)")
    }
    var byID: [String: Key] = [:]
    for key in keys {
      guard byID.updateValue(key, forKey: id(key)) == nil else {
        throw JOSEError(.badKey, "two keys have the kid \"\(id(key))\": give each its own", keyID: id(key))
      }
    }
    return byID
  }

  static func text(_ keys: [String]) -> String {
    "{\"keys\": [\n  \(keys.joined(separator: ",\n  "))\n]}"
  }
}
