import CountersignEncoding

/// Signed texts: JSON Web Signature (RFC 7515) in compact form, with ES256 or RS256. JSON Web Tokens are JWS whose
/// payload is an object of claims; what the claims say is for the caller to judge.
///
/// The key decides the algorithm. A text that names another one, or `none`, is refused, as is one with extensions
/// (`crit`).
public enum JWS {
  /// The largest payload in bytes.
  public static let maxPayloadBytes = 65_536
  /// The largest protected header in bytes of JSON.
  public static let maxHeaderBytes = 4_096
  /// The largest compact form in bytes.
  public static let maxCompactBytes = 4 * (maxPayloadBytes + maxHeaderBytes + SignatureAlgorithm.maxRSABits / 8 + 3) / 3

  /// Signs a payload.
  /// - Parameters:
  ///   - payload: at most 64 KiB.
  ///   - key: also decides the algorithm; its ID is named in the header as `kid`.
  ///   - header: further members of the protected header, `typ` for instance.
  /// - Returns: the compact form, three parts of base64url with dots between them.
  /// - Throws: ``JOSEError/Code/tooLarge``, ``JOSEError/Code/malformed`` for a reserved member,
  ///   ``JOSEError/Code/unavailable``.
  public static func sign(
    _ payload: [UInt8], with key: SigningKey, header: [String: String] = [:]
  ) throws(JOSEError) -> String {
    guard payload.count <= maxPayloadBytes else {
      throw JOSEError(.tooLarge, "more than \(maxPayloadBytes) bytes to sign")
    }
    let json = try JWSHeader.encode(header, algorithm: key.algorithm.rawValue, keyID: key.id)
    guard json.count <= maxHeaderBytes else {
      throw JOSEError(.tooLarge, "the header has more than \(maxHeaderBytes) bytes")
    }
    var compact: [UInt8] = []
    compact.reserveCapacity((json.count + payload.count + SignatureAlgorithm.maxRSABits / 8) * 4 / 3 + 16)
    Base64URL.encode(json, into: &compact)
    compact.append(JWE.dot)
    Base64URL.encode(payload, into: &compact)
    // The signature covers the text so far, not the bytes in it (RFC 7515, section 5.1).
    let signature = try key.key.sign(compact, key.algorithm)
    compact.append(JWE.dot)
    Base64URL.encode(signature, into: &compact)
    return String(decoding: compact, as: UTF8.self)
  }

  /// Verifies a signed text.
  /// - Parameters:
  ///   - compact: the compact form.
  ///   - key: the only key and the only algorithm that are taken. A `kid` in the header must be the key's, when it has
  ///     one.
  /// - Returns: the protected header's members that are strings, and the payload.
  /// - Throws: ``JOSEError/Code/authenticationFailed``; ``JOSEError/Code/unknownKey`` for another `kid`;
  ///   ``JOSEError/Code/unsupportedAlgorithm``; ``JOSEError/Code/malformed``; ``JOSEError/Code/tooLarge``.
  public static func verify(
    _ compact: String, with key: VerifyingKey
  ) throws(JOSEError) -> (header: [String: String], payload: [UInt8]) {
    let text = Array(compact.utf8.prefix(maxCompactBytes + 1))
    guard text.count <= maxCompactBytes else {
      throw JOSEError(.tooLarge, "the signed text has more than \(maxCompactBytes) bytes")
    }
    let parts = try Parts(text)
    let header = try JWSHeader.decode(parts.header, algorithms: [key.algorithm.rawValue])
    if let id = key.id, let named = header["kid"], named != id {
      let name = JOSEError.printable(named)
      throw JOSEError(.unknownKey, "the signed text names the key \"\(name)\" instead of \"\(id)\"", keyID: name)
    }
    guard try key.key.verify(parts.signed, signature: parts.signature, key.algorithm) else {
      throw JOSEError(.authenticationFailed, "the signed text was changed, or signed with another key", keyID: key.id)
    }
    // RFC 7519, section 4: claims that stand twice are rejected here, as two readers could see different ones.
    guard !HeaderJSON.repeatsName(parts.payload) else {
      throw JOSEError(.malformed, "the signed text has a member twice", keyID: key.id)
    }
    return (header, parts.payload)
  }
}

/// Signature algorithm of a JWS (RFC 7518, section 3.1). The key decides it, never the text that is verified.
public enum SignatureAlgorithm: String, Sendable, Hashable {
  /// ECDSA on the curve P-256 with SHA-256.
  case es256 = "ES256"
  /// RSASSA-PKCS1-v1_5 with SHA-256.
  case rs256 = "RS256"

  /// The shortest RSA key in bits that is taken (RFC 7518, section 3.3).
  public static let minRSABits = 2048
  /// The longest one: longer ones take so long that a text to verify could be used to keep a processor busy.
  public static let maxRSABits = 8192
}

extension JWS {
  /// The parts of a compact form (RFC 7515, section 7.1), decoded.
  struct Parts {
    let header: [UInt8]
    let payload: [UInt8]
    let signature: [UInt8]
    /// Header and payload as they stand in the text, which the signature covers.
    let signed: [UInt8]

    init(_ text: [UInt8]) throws(JOSEError) {
      let parts = text.split(separator: JWE.dot, maxSplits: 3, omittingEmptySubsequences: false)
      guard parts.count == 3 else {
        throw JOSEError(.malformed, "the signed text has \(parts.count) parts instead of 3")
      }
      header = try JWE.Parts.decode(parts[0], "header", of: "signed text", upTo: JWS.maxHeaderBytes)
      payload = try JWE.Parts.decode(parts[1], "payload", of: "signed text", upTo: JWS.maxPayloadBytes)
      signature = try JWE.Parts.decode(
        parts[2], "signature", of: "signed text", upTo: SignatureAlgorithm.maxRSABits / 8)
      signed = Array(text[..<parts[1].endIndex])
    }
  }
}

/// The protected header of a JWS (RFC 7515, section 4): a flat JSON object.
enum JWSHeader {
  /// Members that the format itself gives a meaning, or that would name a key to trust: a caller cannot set them.
  private static let reserved: Set<String> = [
    "alg", "kid", "crit", "b64", "jku", "jwk", "x5u", "x5c", "x5t", "x5t#S256",
  ]

  static func encode(
    _ members: [String: String], algorithm: String, keyID: String?
  ) throws(JOSEError) -> [UInt8] {
    var json = JSONObjectWriter()
    json.put("alg", algorithm)
    json.put("kid", keyID)
    return try HeaderJSON.write(members, reserved: reserved, into: json)
  }

  static func decode(_ json: [UInt8], algorithms: [String]) throws(JOSEError) -> [String: String] {
    let header = try HeaderJSON.strings(of: json, in: "signed text", refusing: ["crit", "b64"])
    guard let algorithm = header["alg"], algorithms.contains(algorithm) else {
      let found = JOSEError.printable(header["alg"] ?? "nothing")
      let wanted = algorithms.joined(separator: ", ")
      throw JOSEError(.unsupportedAlgorithm, "the signed text's alg is \(found) instead of the key's, \(wanted)")
    }
    return header
  }
}
