import CountersignCOpenSSL
import CountersignEncoding

extension JWE {
  /// Seals a text to a public key: `ECDH-ES` with a fresh ephemeral key, and `A256GCM` (RFC 7518, section 4.6).
  /// - Parameters:
  ///   - plaintext: at most 64 KiB.
  ///   - recipient: named in the header as `kid`.
  ///   - header: further members of the protected header. They are not secret, but cannot be changed unnoticed.
  /// - Returns: the compact form.
  /// - Throws: ``JOSEError/Code/tooLarge``, ``JOSEError/Code/malformed`` for a reserved member,
  ///   ``JOSEError/Code/unavailable``.
  public static func seal(
    _ plaintext: [UInt8], to recipient: PublicSealingKey, header: [String: String] = [:]
  ) throws(JOSEError) -> String {
    let ephemeral = try PublicSealingKey(id: "", key: PKey.generateP256())
    let key = try agreedKey(own: ephemeral.key, other: recipient.key, id: recipient.id, parties: .none)
    let json = try JWEHeader.encode(header, keyID: recipient.id, ephemeral: ephemeral)
    return try seal(plaintext, with: key, headerJSON: json, iv: SecureRandom.bytes(AESGCM.ivLength))
  }

  /// Opens a text that was sealed to a public key. A text that is sealed in another way is refused.
  /// - Parameters:
  ///   - compact: the compact form.
  ///   - keys: have the key that the header's `kid` names.
  /// - Returns: the protected header's members that are strings, and the plaintext.
  /// - Throws: ``JOSEError/Code/unknownKey`` with ``JOSEError/keyID``; ``JOSEError/Code/authenticationFailed``;
  ///   ``JOSEError/Code/unsupportedAlgorithm``; ``JOSEError/Code/malformed``, for an ephemeral key that is not on the
  ///   curve too; ``JOSEError/Code/tooLarge``.
  public static func open(
    _ compact: String, with keys: PrivateSealingKeys
  ) throws(JOSEError) -> (header: [String: String], plaintext: [UInt8]) {
    try open(compact) { keys[$0] }
  }

  /// Opens a text that was sealed to the public part of one key.
  /// - Throws: like ``open(_:with:)-(_,PrivateSealingKeys)``.
  public static func open(
    _ compact: String, with key: PrivateSealingKey
  ) throws(JOSEError) -> (header: [String: String], plaintext: [UInt8]) {
    try open(compact) { $0 == key.id ? key : nil }
  }

  private static func open(
    _ compact: String, find: (String) -> PrivateSealingKey?
  ) throws(JOSEError) -> (header: [String: String], plaintext: [UInt8]) {
    let parts = try Parts(compact: compact)
    let header = try JWEHeader.decode(parts.header, algorithm: PublicSealingKey.algorithm)
    guard let id = header["kid"] else { throw JOSEError(.malformed, "the sealed text names no key") }
    guard let own = find(id) else { throw unknownKey(id) }
    let agreement = try KeyAgreementHeader(parts.header, strings: header)
    let key = try agreedKey(own: own.key, other: agreement.ephemeral, id: own.id, parties: agreement.parties)
    let plaintext = try AESGCM.open(
      parts.ciphertext, tag: parts.tag, key: key, iv: parts.iv, authenticating: parts.authenticated)
    return (header, plaintext)
  }

  private static func agreedKey(
    own: PKey, other: PKey, id: String, parties: ConcatKDF.Parties
  ) throws(JOSEError) -> SymmetricKey {
    var secret = try own.sharedSecret(with: other)
    defer { OPENSSL_cleanse(&secret, secret.count) }
    var bytes = ConcatKDF.derive(secret, algorithm: encryption, parties: parties, bits: SymmetricKey.length * 8)
    defer { OPENSSL_cleanse(&bytes, bytes.count) }
    return try SymmetricKey(id: id, bytes: bytes)
  }
}

/// Members of the protected header that the agreement of a key needs (RFC 7518, section 4.6.1).
private struct KeyAgreementHeader {
  let ephemeral: PKey
  let parties: ConcatKDF.Parties

  init(_ json: [UInt8], strings: [String: String]) throws(JOSEError) {
    let header: Header
    do {
      header = try JSONReader(maxBytes: JWE.maxHeaderBytes).decode(Header.self, from: json)
    } catch {
      throw JOSEError(.malformed, "the sealed text's header has no epk, or its epk, apu or apv is not of its type")
    }
    guard header.epk.d == nil else {
      throw JOSEError(.malformed, "the sealed text's epk is a private key")
    }
    do {
      ephemeral = try header.epk.sealingKey(.public)
    } catch {
      // The text is at fault, not a key of ours.
      throw error.isRetriable ? error : JOSEError(.malformed, "the sealed text's epk is not a key on the curve P-256")
    }
    parties = ConcatKDF.Parties(
      u: try Self.party("apu", strings["apu"]), v: try Self.party("apv", strings["apv"]))
  }

  private static func party(_ name: String, _ text: String?) throws(JOSEError) -> [UInt8] {
    guard let text else { return [] }
    guard let bytes = Base64URL.decode(text) else {
      throw JOSEError(.malformed, "the sealed text's \(name) is not base64url")
    }
    return bytes
  }

  private struct Header: Decodable {
    var epk: AsymmetricJWK
    var apu, apv: String?
  }
}

/// Key derivation by concatenation (NIST SP 800-56A, section 5.8.1) with SHA-256, as RFC 7518, section 4.6.2, uses it.
enum ConcatKDF {
  struct Parties {
    /// PartyUInfo: the sender (`apu`).
    var u: [UInt8] = []
    /// PartyVInfo: the recipient (`apv`).
    var v: [UInt8] = []

    static let none = Parties()
  }

  static func derive(_ secret: [UInt8], algorithm: String, parties: Parties, bits: Int) -> [UInt8] {
    precondition(bits.isMultiple(of: 8) && (8...256).contains(bits), "one round makes 1 to 32 bytes")
    let firstRound: UInt32 = 1
    var input = bigEndian(firstRound) + secret
    defer { OPENSSL_cleanse(&input, input.count) }
    for text in [Array(algorithm.utf8), parties.u, parties.v] {
      input.append(contentsOf: bigEndian(UInt32(text.count)))
      input.append(contentsOf: text)
    }
    input.append(contentsOf: bigEndian(UInt32(bits)))
    return Array(SHA256.hash(input).prefix(bits / 8))
  }

  private static func bigEndian(_ number: UInt32) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }
}
