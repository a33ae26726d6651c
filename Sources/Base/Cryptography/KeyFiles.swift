import CountersignCOpenSSL
import CountersignEncoding

/// Extracts the public key from a private key, for publication in DNS.
public enum PublicKeyFile {
  /// The size of an RSA key in bits. `nil` for a key of another kind.
  ///
  /// - Parameter file: A private key, PEM or DER.
  /// - Throws: ``JOSEError/Code/badKey``.
  public static func rsaBits(ofPrivateKey file: [UInt8]) throws(JOSEError) -> Int? {
    let key = try PKey(file: file, part: .private, name: "the key")
    return EVP_PKEY_is_a(key.pointer, "RSA") == 1 ? Int(EVP_PKEY_get_bits(key.pointer)) : nil
  }

  /// The structure SubjectPublicKeyInfo (RFC 5280, 4.1.2.7) in DER. That of an Ed25519 key ends in the 32 bytes of the
  /// key itself.
  ///
  /// - Parameter file: A private key, PEM or DER.
  /// - Throws: ``JOSEError/Code/badKey``.
  public static func subjectPublicKeyInfo(ofPrivateKey file: [UInt8]) throws(JOSEError) -> [UInt8] {
    let key = try PKey(file: file, part: .private, name: "the key")
    return try PKey.der { i2d_PUBKEY(key.pointer, $0) }
  }
}

/// RSA keys in the older of their two forms, for libraries that read a key anew for every signature.
public enum RSAKeyFile {
  /// The key in PEM as `RSA PRIVATE KEY` (PKCS #1). OpenSSL 3 reads it in half the time that `PRIVATE KEY` (PKCS #8)
  /// takes.
  ///
  /// - Parameter file: A private key, PEM or DER.
  /// - Returns: `nil`, when the key is none of RSA.
  /// - Throws: ``JOSEError/Code/badKey``.
  public static func traditionalPEM(_ file: [UInt8]) throws(JOSEError) -> String? {
    let key = try PKey(file: file, part: .private, name: "the key")
    guard EVP_PKEY_is_a(key.pointer, "RSA") == 1 else { return nil }
    let der = try PKey.der { i2d_PrivateKey(key.pointer, $0) }
    var lines: [String] = []
    // 48 bytes make a line of 64 characters (RFC 7468, 2).
    for start in stride(from: 0, to: der.count, by: 48) {
      lines.append(Base64.encode(Array(der[start..<min(start + 48, der.count)])))
    }
    return "-----BEGIN RSA PRIVATE KEY-----\n\(lines.joined(separator: "\n"))\n-----END RSA PRIVATE KEY-----\n"
  }
}
