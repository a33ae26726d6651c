import CountersignCOpenSSL

extension PKey {
  static func generateP256() throws(JOSEError) -> PKey {
    try generate("EC") { EVP_PKEY_CTX_set_group_name($0, "P-256") == 1 }
  }

  /// A fresh RSA key pair with the public exponent 65,537.
  static func generateRSA(bits: Int) throws(JOSEError) -> PKey {
    guard (SignatureAlgorithm.minRSABits...SignatureAlgorithm.maxRSABits).contains(bits) else {
      throw JOSEError(
        .badKey,
        "an RSA key has \(SignatureAlgorithm.minRSABits) to \(SignatureAlgorithm.maxRSABits) bits, not \(bits)")
    }
    return try generate("RSA") { EVP_PKEY_CTX_set_rsa_keygen_bits($0, Int32(bits)) == 1 }
  }

  private static func generate(_ type: String, configure: (OpaquePointer) -> Bool) throws(JOSEError) -> PKey {
    guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else { throw unavailable() }
    defer { EVP_PKEY_CTX_free(context) }
    var pointer: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, configure(context), EVP_PKEY_generate(context, &pointer) == 1,
      let pointer
    else { throw unavailable() }
    return PKey(pointer)
  }
}

extension PKey {
  /// One of the key's numbers by its name at OpenSSL, most significant byte first. As short as it can be unless a
  /// length is given.
  func number(_ name: String, count: Int? = nil) throws(JOSEError) -> [UInt8] {
    var number: OpaquePointer?
    guard EVP_PKEY_get_bn_param(pointer, name, &number) == 1, let number else { throw Self.unavailable() }
    defer { BN_clear_free(number) }
    let length = count ?? (Int(BN_num_bits(number)) + 7) / 8
    var bytes = [UInt8](repeating: 0, count: length)
    guard BN_bn2binpad(number, &bytes, Int32(length)) == length else { throw Self.unavailable() }
    return bytes
  }

  /// The private key as PKCS #8 in DER, without a password.
  func pkcs8() throws(JOSEError) -> [UInt8] {
    guard let info = EVP_PKEY2PKCS8(pointer) else { throw Self.unavailable() }
    defer { PKCS8_PRIV_KEY_INFO_free(info) }
    return try Self.der { i2d_PKCS8_PRIV_KEY_INFO(info, $0) }
  }

  func subjectPublicKeyInfo() throws(JOSEError) -> [UInt8] {
    try Self.der { i2d_PUBKEY(pointer, $0) }
  }

  /// Bytes that one of OpenSSL's i2d functions writes. Its own copy is erased.
  static func der(
    _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32
  ) throws(JOSEError) -> [UInt8] {
    var start: UnsafeMutablePointer<UInt8>?
    let count = write(&start)
    guard count > 0, let start else { throw unavailable() }
    defer { CRYPTO_clear_free(start, Int(count), #file, #line) }
    return Array(UnsafeBufferPointer(start: start, count: Int(count)))
  }

  /// The secret that two key pairs have in common (ECDH): the x coordinate of the shared point, 32 bytes.
  func sharedSecret(with other: PKey) throws(JOSEError) -> [UInt8] {
    guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { throw Self.unavailable() }
    defer { EVP_PKEY_CTX_free(context) }
    var secret = [UInt8](repeating: 0, count: ECNumbers.length)
    var count = secret.count
    // Without the check of the other's point, half the time of it: on P-256 it has to be on the curve and no more, and a
    // point that is not is not a key of ours.
    guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer_ex(context, other.pointer, 0) == 1,
      EVP_PKEY_derive(context, &secret, &count) == 1, count == secret.count
    else { throw Self.unavailable() }
    return secret
  }
}

enum ECNumbers {
  /// Bytes of a coordinate, and of a private key.
  static let length = 32
}
