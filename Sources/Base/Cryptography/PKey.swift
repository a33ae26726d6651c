import CountersignCOpenSSL

/// A key pair, or its public part, of OpenSSL.
///
/// Sendable although it has a pointer: an EVP_PKEY is not changed after it was made, counts its references atomically
/// and may be used by all threads at once (openssl-threads(7)); it is freed with its last reference.
final class PKey: @unchecked Sendable {
  enum Part {
    case `private`, `public`

    var selection: Int32 {
      switch self {
      // EVP_PKEY_KEYPAIR and EVP_PKEY_PUBLIC_KEY, which are macros of macros.
      case .private: OSSL_KEYMGMT_SELECT_PRIVATE_KEY | Self.publicSelection
      case .public: Self.publicSelection
      }
    }

    private static let publicSelection =
      OSSL_KEYMGMT_SELECT_PUBLIC_KEY | OSSL_KEYMGMT_SELECT_DOMAIN_PARAMETERS | OSSL_KEYMGMT_SELECT_OTHER_PARAMETERS
  }

  let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) {
    self.pointer = pointer
  }

  deinit {
    EVP_PKEY_free(pointer)
  }

  convenience init(file: [UInt8], part: Part, name: String) throws(JOSEError) {
    try self.init(unchecked: file, part: part, name: name)
    try check(part, name: name)
  }

  convenience init(unchecked file: [UInt8], part: Part, name: String) throws(JOSEError) {
    guard file.count <= SigningKey.maxFileBytes else {
      throw JOSEError(.badKey, "\(name) has more than \(SigningKey.maxFileBytes) bytes")
    }
    guard let pointer = Self.decode(file, part) else {
      let kind = part == .private ? "private" : "public"
      let reason = OpenSSL.drainErrors().map { ": \($0)" } ?? ""
      throw JOSEError(.badKey, "\(name) is not a \(kind) key in PEM or DER without a password\(reason)")
    }
    OpenSSL.drainErrors()
    self.init(pointer)
  }

  /// That its numbers belong together, so that a key that was damaged shows now and not in every signature.
  func check(_ part: Part, name: String) throws(JOSEError) {
    guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { throw Self.unavailable() }
    defer { EVP_PKEY_CTX_free(context) }
    let isSound =
      EVP_PKEY_public_check_quick(context) == 1 && (part == .public || EVP_PKEY_pairwise_check(context) == 1)
    OpenSSL.drainErrors()
    guard isSound else { throw JOSEError(.badKey, "the numbers of \(name) do not match") }
  }

  func algorithm(name: String) throws(JOSEError) -> SignatureAlgorithm {
    if EVP_PKEY_is_a(pointer, "EC") == 1 {
      guard isOnP256 else { throw JOSEError(.badKey, "\(name) is not on the curve P-256, which ES256 requires") }
      return .es256
    }
    guard EVP_PKEY_is_a(pointer, "RSA") == 1 else {
      throw JOSEError(.badKey, "\(name) is neither of type EC nor of type RSA")
    }
    let bits = Int(EVP_PKEY_get_bits(pointer))
    guard (SignatureAlgorithm.minRSABits...SignatureAlgorithm.maxRSABits).contains(bits) else {
      throw JOSEError(
        .badKey,
        "\(name) has \(bits) bits instead of \(SignatureAlgorithm.minRSABits) to \(SignatureAlgorithm.maxRSABits)")
    }
    return .rs256
  }

  private var isOnP256: Bool {
    var name = [CChar](repeating: 0, count: 64)
    var count = 0
    guard EVP_PKEY_get_group_name(pointer, &name, name.count, &count) == 1 else { return false }
    return name.prefix(count).elementsEqual("prime256v1".utf8.map(CChar.init(bitPattern:)))
  }

  private static func decode(_ file: [UInt8], _ part: Part) -> OpaquePointer? {
    // A decoder has no way to ask for a password unless it is given one, so no file makes the process wait at a
    // terminal.
    for part in part == .private ? [part] : [part, .private] {
      var pointer: OpaquePointer?
      guard let decoder = OSSL_DECODER_CTX_new_for_pkey(&pointer, nil, nil, nil, part.selection, nil, nil) else {
        return nil
      }
      defer { OSSL_DECODER_CTX_free(decoder) }
      let isDone = file.withUnsafeBufferPointer { file in
        var start = file.baseAddress
        var count = file.count
        return OSSL_DECODER_from_data(decoder, &start, &count) == 1
      }
      if isDone, let pointer { return pointer }
      EVP_PKEY_free(pointer)
    }
    return nil
  }

  static func unavailable() -> JOSEError {
    JOSEError(.unavailable, "OpenSSL cannot work with a key: \(OpenSSL.drainErrors() ?? "no memory")")
  }
}

extension PKey {
  /// - Returns: the signature as JWS has it (RFC 7518, sections 3.3 and 3.4).
  func sign(_ message: [UInt8], _ algorithm: SignatureAlgorithm) throws(JOSEError) -> [UInt8] {
    guard let context = EVP_MD_CTX_new() else { throw Self.unavailable() }
    defer { EVP_MD_CTX_free(context) }
    var count = 0
    guard EVP_DigestSignInit_ex(context, nil, "SHA2-256", nil, nil, pointer, nil) == 1,
      EVP_DigestSign(context, nil, &count, message, message.count) == 1
    else { throw Self.unavailable() }
    var signature = [UInt8](repeating: 0, count: count)
    guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { throw Self.unavailable() }
    signature.removeLast(signature.count - count)
    return algorithm == .es256 ? try Self.raw(der: signature) : signature
  }

  func verify(_ message: [UInt8], signature: [UInt8], _ algorithm: SignatureAlgorithm) throws(JOSEError) -> Bool {
    guard let context = EVP_MD_CTX_new() else { throw Self.unavailable() }
    defer { EVP_MD_CTX_free(context) }
    guard let signature = algorithm == .es256 ? Self.der(raw: signature) : signature else { return false }
    guard EVP_DigestVerifyInit_ex(context, nil, "SHA2-256", nil, nil, pointer, nil) == 1 else {
      throw Self.unavailable()
    }
    let isRight = EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    OpenSSL.drainErrors()
    return isRight
  }

  /// OpenSSL writes a signature as two numbers in DER, JWS as 32 bytes each (RFC 7518, section 3.4).
  private static func raw(der: [UInt8]) throws(JOSEError) -> [UInt8] {
    let parsed = der.withUnsafeBufferPointer { der in
      var start = der.baseAddress
      return d2i_ECDSA_SIG(nil, &start, der.count)
    }
    guard let parsed else { throw unavailable() }
    defer { ECDSA_SIG_free(parsed) }
    var raw = [UInt8](repeating: 0, count: 2 * ECNumbers.length)
    let isDone = raw.withUnsafeMutableBufferPointer { raw in
      let second = raw.baseAddress?.advanced(by: ECNumbers.length)
      return BN_bn2binpad(ECDSA_SIG_get0_r(parsed), raw.baseAddress, Int32(ECNumbers.length)) == ECNumbers.length
        && BN_bn2binpad(ECDSA_SIG_get0_s(parsed), second, Int32(ECNumbers.length)) == ECNumbers.length
    }
    guard isDone else { throw unavailable() }
    return raw
  }

  private static func der(raw: [UInt8]) -> [UInt8]? {
    guard raw.count == 2 * ECNumbers.length, let parsed = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(parsed) }
    let r = BN_bin2bn(Array(raw[..<ECNumbers.length]), Int32(ECNumbers.length), nil)
    let s = BN_bin2bn(Array(raw[ECNumbers.length...]), Int32(ECNumbers.length), nil)
    guard ECDSA_SIG_set0(parsed, r, s) == 1 else {
      BN_free(r)
      BN_free(s)
      return nil
    }
    var der: UnsafeMutablePointer<UInt8>?
    let count = i2d_ECDSA_SIG(parsed, &der)
    defer { CRYPTO_free(der, #file, #line) }
    guard count > 0, let der else { return nil }
    return Array(UnsafeBufferPointer(start: der, count: Int(count)))
  }
}
