import CountersignEncoding

/// Signed texts: JSON Web Signature (RFC 7515) in compact form, with ES256 or RS256. JSON Web Tokens are JWS whose payload is an object of
/// claims; what the claims say is for the caller to judge.
///
/// The key decides the algorithm. A text that names another one, or `none`, is refused, as is one with extensions (`crit`).
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
  /// - Throws: ``JOSEError/Code/tooLarge``, ``JOSEError/Code/malformed`` for a reserved member, ``JOSEError/Code/unavailable``.
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
    // What is signed is the text so far, not the bytes in it (RFC 7515, section 5.1).
    let signature = try key.key.sign(compact, key.algorithm)
    compact.append(JWE.dot)
    Base64URL.encode(signature, into: &compact)
    return String(decoding: compact, as: UTF8.self)
  }

  /// Verifies a signed text.
  /// - Parameters:
  ///   - compact: the compact form.
  ///   - key: the only key and the only algorithm that are taken. A `kid` in the header must be the key's, when it has one.
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
    return (header, parts.payload)
  }
}
