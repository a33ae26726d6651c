import CountersignEncoding

extension JWS {
  /// Signs a payload under a shared secret: HS256, HS384 or HS512 (RFC 7518, section 3.2).
  /// - Parameters:
  ///   - payload: at most 64 KiB.
  ///   - secret: what the verifier has too; not empty.
  ///   - digest: decides the algorithm; SHA-1 is none of them.
  /// - Returns: the compact form.
  /// - Throws: ``JOSEError/Code/tooLarge``, ``JOSEError/Code/unsupportedAlgorithm``.
  public static func sign(
    _ payload: [UInt8], secret: [UInt8], digest: HMAC.Digest = .sha256
  ) throws(JOSEError) -> String {
    guard payload.count <= maxPayloadBytes else {
      throw JOSEError(.tooLarge, "more than \(maxPayloadBytes) bytes to sign")
    }
    guard let algorithm = digest.jwsName else {
      throw JOSEError(.unsupportedAlgorithm, "\(digest.rawValue) signs no JWS")
    }
    let header = try JWSHeader.encode(["typ": "JWT"], algorithm: algorithm, keyID: nil)
    let signed = Base64URL.encode(header) + "." + Base64URL.encode(payload)
    return signed + "." + Base64URL.encode(HMAC.authenticate(Array(signed.utf8), key: secret, digest: digest))
  }

  /// Verifies a text that was signed under a shared secret, with HS256, HS384 or HS512 as its header says.
  ///
  /// The secret is never used for anything but an HMAC, so the choice of the digest does not help an attacker without
  /// it.
  /// - Parameters:
  ///   - compact: the compact form.
  ///   - secret: what the signer has too; not empty.
  /// - Returns: the payload.
  /// - Throws: ``JOSEError/Code/authenticationFailed``, ``JOSEError/Code/unsupportedAlgorithm`` (also for `none`),
  ///   ``JOSEError/Code/malformed``, ``JOSEError/Code/tooLarge``.
  public static func verify(_ compact: String, secret: [UInt8]) throws(JOSEError) -> [UInt8] {
    let text = Array(compact.utf8.prefix(maxCompactBytes + 1))
    guard text.count <= maxCompactBytes else {
      throw JOSEError(.tooLarge, "the signed text has more than \(maxCompactBytes) bytes")
    }
    let parts = try Parts(text)
    let header = try JWSHeader.decode(parts.header, algorithms: HMAC.Digest.allCases.compactMap(\.jwsName))
    // The header has one of these names.
    let digest = HMAC.Digest.allCases.first { $0.jwsName == header["alg"] } ?? .sha256
    let code = HMAC.authenticate(parts.signed, key: secret, digest: digest)
    guard constantTimeEquals(code, parts.signature) else {
      throw JOSEError(.authenticationFailed, "the signed text was changed, or signed with another secret")
    }
    return parts.payload
  }
}

extension HMAC.Digest {
  /// The name of the algorithm in a JWS (RFC 7518, section 3.1). Nil when there is none.
  fileprivate var jwsName: String? {
    switch self {
    case .md5, .sha1: nil
    case .sha256: "HS256"
    case .sha384: "HS384"
    case .sha512: "HS512"
    }
  }
}
