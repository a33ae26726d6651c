import CountersignCOpenSSL

// Functions for passwords that another system hashed. Our own interfaces use none of them.

extension HMAC.Digest {
  /// The digest itself, without a key.
  /// - Returns: ``length`` bytes, or `nil` where OpenSSL's configuration leaves the digest out.
  public func hash(_ message: [UInt8]) -> [UInt8]? {
    var count = length
    var digest = [UInt8](repeating: 0, count: count)
    guard EVP_Q_digest(nil, rawValue, nil, message, message.count, &digest, &count) == 1, count == length else {
      OpenSSL.drainErrors()
      return nil
    }
    return digest
  }
}

/// PBKDF2 with HMAC (RFC 8018, section 5.2).
public enum PBKDF2 {
  /// - Parameters:
  ///   - count: length of the key in bytes.
  ///   - rounds: number of iterations, from 1.
  /// - Returns: `nil` where OpenSSL lacks the digest or memory.
  public static func derive(
    _ count: Int, from password: [UInt8], salt: [UInt8], rounds: Int, digest: HMAC.Digest
  ) -> [UInt8]? {
    guard let rounds = Int32(exactly: rounds), rounds > 0, let length = Int32(exactly: count), length > 0,
      let passwordCount = Int32(exactly: password.count), let saltCount = Int32(exactly: salt.count),
      let algorithm = EVP_MD_fetch(nil, digest.rawValue, nil)
    else {
      OpenSSL.drainErrors()
      return nil
    }
    defer { EVP_MD_free(algorithm) }
    var key = [UInt8](repeating: 0, count: count)
    let isDone = password.withUnsafeBytes { password in
      PKCS5_PBKDF2_HMAC(
        password.baseAddress?.assumingMemoryBound(to: CChar.self), passwordCount, salt, saltCount, rounds, algorithm,
        length, &key) == 1
    }
    guard isDone else {
      OpenSSL.drainErrors()
      return nil
    }
    return key
  }
}

/// AES-256 in counter mode (NIST SP 800-38A) from a counter of zeros, which a key may encrypt one text with.
public enum AES256Counter {
  /// The length of a key in bytes.
  public static let keyLength = 32

  /// - Returns: as many bytes as the text has, or `nil` for a key of another length, or where OpenSSL lacks memory.
  public static func encrypt(_ plaintext: [UInt8], key: [UInt8]) -> [UInt8]? {
    guard key.count == keyLength, let length = Int32(exactly: plaintext.count),
      let cipher = EVP_CIPHER_fetch(nil, "AES-256-CTR", nil)
    else { return nil }
    defer { EVP_CIPHER_free(cipher) }
    guard let context = EVP_CIPHER_CTX_new() else { return nil }
    defer { EVP_CIPHER_CTX_free(context) }  // Erases the key as well.
    var ciphertext = [UInt8](repeating: 0, count: plaintext.count)
    var count: Int32 = 0
    guard EVP_EncryptInit_ex2(context, cipher, key, [UInt8](repeating: 0, count: 16), nil) == 1,
      EVP_EncryptUpdate(context, &ciphertext, &count, plaintext, length) == 1, count == length
    else {
      OpenSSL.drainErrors()
      return nil
    }
    return ciphertext
  }
}
