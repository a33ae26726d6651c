internal import CountersignCOpenSSL

/// The public part of a private key of any kind, for who publishes it.
public enum PublicKeyFile {
  /// The size of an RSA key in bits; `nil` for a key of another kind.
  ///
  /// - Parameter file: A private key, PEM or DER.
  /// - Throws: ``JOSEError/Code/badKey``.
  public static func rsaBits(ofPrivateKey file: [UInt8]) throws(JOSEError) -> Int? {
    let key = try PKey(file: file, part: .private, name: "the key")
    return EVP_PKEY_is_a(key.pointer, "RSA") == 1 ? Int(EVP_PKEY_get_bits(key.pointer)) : nil
  }

  /// The structure SubjectPublicKeyInfo (RFC 5280, 4.1.2.7) in DER. That of an Ed25519 key ends in the 32 bytes of the key itself.
  ///
  /// - Parameter file: A private key, PEM or DER.
  /// - Throws: ``JOSEError/Code/badKey``.
  public static func subjectPublicKeyInfo(ofPrivateKey file: [UInt8]) throws(JOSEError) -> [UInt8] {
    let key = try PKey(file: file, part: .private, name: "the key")
    let count = i2d_PUBKEY(key.pointer, nil)
    guard count > 0 else { throw PKey.unavailable() }
    var der = [UInt8](repeating: 0, count: Int(count))
    let written = der.withUnsafeMutableBufferPointer { buffer in
      var next = buffer.baseAddress
      return i2d_PUBKEY(key.pointer, &next)
    }
    guard written == count else { throw PKey.unavailable() }
    return der
  }
}
