import CountersignEncoding

/// Sealed texts: JSON Web Encryption (RFC 7516) in compact form, with direct use of a shared key (`dir`) or of one that
/// is agreed upon with a public key (`ECDH-ES`), and `A256GCM` (RFC 7518). The caller's keys decide which of the two is
/// taken, never the text.
///
/// Nothing else is taken: no other algorithm, no compression (`zip`), no extension (`crit`).
public enum JWE {
  /// The `alg` of texts that are sealed with a shared key.
  public static let algorithm = "dir"
  /// The `enc` of every sealed text.
  public static let encryption = "A256GCM"
  /// The largest plaintext in bytes. Messages have 64 KiB at most, so nothing larger can travel.
  public static let maxPlaintextBytes = 65_536
  /// The largest protected header in bytes of JSON.
  public static let maxHeaderBytes = 4_096
  /// The largest compact form in bytes.
  public static let maxCompactBytes = 4 * (maxPlaintextBytes + maxHeaderBytes + 64) / 3

  /// Seals a text under a fresh random IV.
  /// - Parameters:
  ///   - plaintext: at most 64 KiB.
  ///   - key: named in the header as `kid`.
  ///   - header: further members of the protected header. They are not secret, but cannot be changed unnoticed.
  /// - Returns: the compact form, five parts of base64url with dots between them.
  /// - Throws: ``JOSEError/Code/tooLarge``, ``JOSEError/Code/malformed`` for a reserved member,
  ///   ``JOSEError/Code/unavailable``.
  public static func seal(
    _ plaintext: [UInt8], with key: SymmetricKey, header: [String: String] = [:]
  ) throws(JOSEError) -> String {
    try seal(plaintext, with: key, header: header, iv: SecureRandom.bytes(AESGCM.ivLength))
  }

  /// With a fixed IV, for tests: the same key and IV must never seal two texts.
  static func seal(
    _ plaintext: [UInt8], with key: SymmetricKey, header: [String: String], iv: [UInt8]
  ) throws(JOSEError) -> String {
    try seal(plaintext, with: key, headerJSON: JWEHeader.encode(header, keyID: key.id), iv: iv)
  }

  static func seal(
    _ plaintext: [UInt8], with key: SymmetricKey, headerJSON json: [UInt8], iv: [UInt8]
  ) throws(JOSEError) -> String {
    guard plaintext.count <= maxPlaintextBytes else {
      throw JOSEError(.tooLarge, "more than \(maxPlaintextBytes) bytes to seal")
    }
    guard json.count <= maxHeaderBytes else {
      throw JOSEError(.tooLarge, "the header has more than \(maxHeaderBytes) bytes")
    }
    var compact: [UInt8] = []
    compact.reserveCapacity((json.count + plaintext.count + iv.count + AESGCM.tagLength) * 4 / 3 + 16)
    Base64URL.encode(json, into: &compact)
    // The header as it stands in the compact form is what the tag covers (RFC 7516, section 5.1, step 14).
    let (ciphertext, tag) = try AESGCM.seal(plaintext, key: key, iv: iv, authenticating: compact)
    // There is no encrypted key with `dir` and `ECDH-ES`: its part is empty.
    compact.append(dot)
    for part in [iv, ciphertext, tag] {
      compact.append(dot)
      Base64URL.encode(part, into: &compact)
    }
    return String(decoding: compact, as: UTF8.self)
  }

  /// Opens a sealed text.
  /// - Parameters:
  ///   - compact: the compact form.
  ///   - ring: has the key that the header's `kid` names.
  /// - Returns: the protected header's members that are strings (`alg`, `enc` and `kid` among them), and the plaintext.
  /// - Throws: ``JOSEError/Code/unknownKey`` with ``JOSEError/keyID``; ``JOSEError/Code/authenticationFailed``;
  ///   ``JOSEError/Code/unsupportedAlgorithm``; ``JOSEError/Code/malformed``; ``JOSEError/Code/tooLarge``.
  public static func open(
    _ compact: String, with ring: KeyRing
  ) throws(JOSEError) -> (header: [String: String], plaintext: [UInt8]) {
    let parts = try Parts(compact: compact)
    let header = try JWEHeader.decode(parts.header, algorithm: algorithm)
    guard let id = header["kid"] else { throw JOSEError(.malformed, "the sealed text names no key") }
    guard let key = ring.opening[id] else { throw unknownKey(id) }
    let plaintext = try AESGCM.open(
      parts.ciphertext, tag: parts.tag, key: key, iv: parts.iv, authenticating: parts.authenticated)
    return (header, plaintext)
  }

  static func unknownKey(_ id: String) -> JOSEError {
    let name = JOSEError.printable(id)
    return JOSEError(.unknownKey, "no key \"\(name)\" to open the sealed text with", keyID: name)
  }

  /// Whether a string looks like a JWE in compact form, of any algorithm: five parts of base64url, the first beginning
  /// like a JSON object. A secret field that does is never taken for the secret itself.
  public static func isCompactJWE(_ text: String) -> Bool {
    var dots = 0
    var index = 0
    for character in text.utf8 {
      // "{" is "e" and one of the last sixteen of the alphabet; ASCII white space may stand before it ("I", "C", "D").
      if index == 0, !"eICD".utf8.contains(character) { return false }
      if character == dot {
        dots += 1
      } else if !isBase64URL(character) {
        return false
      }
      index += 1
    }
    return dots == 4
  }

  static let dot = UInt8(ascii: ".")

  private static func isBase64URL(_ character: UInt8) -> Bool {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}

extension JWE {
  /// The parts of a compact form (RFC 7516, section 7.1), decoded.
  struct Parts {
    let header: [UInt8]
    /// The header as it stands in the text, which the tag covers.
    let authenticated: [UInt8]
    let iv: [UInt8]
    let ciphertext: [UInt8]
    let tag: [UInt8]

    init(compact: String) throws(JOSEError) {
      let text = Array(compact.utf8.prefix(maxCompactBytes + 1))
      guard text.count <= maxCompactBytes else {
        throw JOSEError(.tooLarge, "the sealed text has more than \(maxCompactBytes) bytes")
      }
      let parts = text.split(separator: JWE.dot, maxSplits: 5, omittingEmptySubsequences: false)
      guard parts.count == 5 else {
        throw JOSEError(.malformed, "the sealed text has \(parts.count) parts instead of 5")
      }
      guard parts[1].isEmpty else {
        throw JOSEError(
          .unsupportedAlgorithm, "the sealed text has an encrypted key, which neither dir nor ECDH-ES allows")
      }
      authenticated = Array(parts[0])
      header = try Self.decode(parts[0], "header", upTo: JWE.maxHeaderBytes)
      iv = try Self.decode(parts[2], "IV", count: AESGCM.ivLength)
      ciphertext = try Self.decode(parts[3], "ciphertext", upTo: JWE.maxPlaintextBytes)
      tag = try Self.decode(parts[4], "tag", count: AESGCM.tagLength)
    }

    static func decode(
      _ part: ArraySlice<UInt8>, _ name: String, of text: String = "sealed text", upTo limit: Int
    ) throws(JOSEError) -> [UInt8] {
      guard let bytes = Base64URL.decode(part) else {
        throw JOSEError(.malformed, "the \(text)'s \(name) is not base64url")
      }
      guard bytes.count <= limit else {
        throw JOSEError(.tooLarge, "the \(text)'s \(name) has more than \(limit) bytes")
      }
      return bytes
    }

    private static func decode(_ part: ArraySlice<UInt8>, _ name: String, count: Int) throws(JOSEError) -> [UInt8] {
      let bytes = try decode(part, name, upTo: count)
      guard bytes.count == count else {
        throw JOSEError(.malformed, "the sealed text's \(name) has \(bytes.count) bytes instead of \(count)")
      }
      return bytes
    }
  }
}

/// The protected header of a JWE (RFC 7516, section 4): a flat JSON object.
enum JWEHeader {
  /// Members that the format itself gives a meaning: a caller cannot set them.
  private static let reserved: Set<String> = ["alg", "enc", "kid", "zip", "crit", "epk", "apu", "apv"]

  private static let text = "sealed text"

  static func encode(
    _ members: [String: String], keyID: String, ephemeral: PublicSealingKey? = nil
  ) throws(JOSEError) -> [UInt8] {
    var json = JSONObjectWriter(reserving: 256)
    json.put("alg", ephemeral == nil ? JWE.algorithm : PublicSealingKey.algorithm)
    json.put("enc", JWE.encryption)
    json.put("kid", keyID)
    if let ephemeral { json.put("epk", object: Array(ephemeral.ephemeralMembers.utf8)) }
    return try HeaderJSON.write(members, reserved: reserved, into: json)
  }

  static func decode(_ json: [UInt8], algorithm: String) throws(JOSEError) -> [String: String] {
    let header = try HeaderJSON.strings(of: json, in: text, refusing: ["zip", "crit"])
    try require("alg", algorithm, of: header)
    try require("enc", JWE.encryption, of: header)
    return header
  }

  private static func require(_ name: String, _ value: String, of header: [String: String]) throws(JOSEError) {
    guard header[name] == value else {
      let found = JOSEError.printable(header[name] ?? "nothing")
      throw JOSEError(.unsupportedAlgorithm, "the sealed text's \(name) is \(found) instead of \(value)")
    }
  }
}
