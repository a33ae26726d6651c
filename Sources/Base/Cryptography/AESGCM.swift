import CountersignCOpenSSL

/// AES-256 in Galois/Counter Mode (NIST SP 800-38D), as A256GCM uses it: 96-bit IV, 128-bit tag.
enum AESGCM {
  static let ivLength = 12
  static let tagLength = 16

  static func seal(
    _ plaintext: [UInt8], key: SymmetricKey, iv: [UInt8], authenticating: [UInt8]
  ) throws(JOSEError) -> (ciphertext: [UInt8], tag: [UInt8]) {
    precondition(iv.count == ivLength, "an IV has 12 bytes")
    let context = try makeContext()
    defer { EVP_CIPHER_CTX_free(context.pointer) }  // Erases the key as well.
    var tag = [UInt8](repeating: 0, count: tagLength)
    var ciphertext = [UInt8](repeating: 0, count: plaintext.count)
    var count: Int32 = 0
    let isDone = key.withUnsafeBytes { key in
      EVP_EncryptInit_ex2(context.pointer, context.cipher, start(of: key), iv, nil) == 1
        && EVP_EncryptUpdate(context.pointer, nil, &count, authenticating, Int32(authenticating.count)) == 1
        && EVP_EncryptUpdate(context.pointer, &ciphertext, &count, plaintext, Int32(plaintext.count)) == 1
        && EVP_EncryptFinal_ex(context.pointer, nil, &count) == 1
        && EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_GET_TAG, Int32(tagLength), &tag) == 1
    }
    guard isDone else { throw unavailable() }
    return (ciphertext, tag)
  }

  static func open(
    _ ciphertext: [UInt8], tag: [UInt8], key: SymmetricKey, iv: [UInt8], authenticating: [UInt8]
  ) throws(JOSEError) -> [UInt8] {
    precondition(iv.count == ivLength && tag.count == tagLength, "an IV has 12 bytes, a tag 16")
    let context = try makeContext()
    defer { EVP_CIPHER_CTX_free(context.pointer) }
    var plaintext = [UInt8](repeating: 0, count: ciphertext.count)
    var tag = tag
    var count: Int32 = 0
    let isReady = key.withUnsafeBytes { key in
      EVP_DecryptInit_ex2(context.pointer, context.cipher, start(of: key), iv, nil) == 1
        && EVP_DecryptUpdate(context.pointer, nil, &count, authenticating, Int32(authenticating.count)) == 1
        && EVP_DecryptUpdate(context.pointer, &plaintext, &count, ciphertext, Int32(ciphertext.count)) == 1
        && EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_SET_TAG, Int32(tagLength), &tag) == 1
    }
    guard isReady else { throw unavailable() }
    guard EVP_DecryptFinal_ex(context.pointer, nil, &count) == 1 else {
      // What was decrypted is not to be used.
      OPENSSL_cleanse(&plaintext, plaintext.count)
      OpenSSL.drainErrors()
      throw JOSEError(
        .authenticationFailed, "the sealed text was changed, or sealed with another key of the same kid", keyID: key.id)
    }
    return plaintext
  }

  private static func makeContext() throws(JOSEError) -> (pointer: OpaquePointer, cipher: OpaquePointer) {
    guard let cipher = OpenSSL.aes256GCM else { throw JOSEError(.unavailable, "\(OpenSSL.missing)") }
    guard let context = EVP_CIPHER_CTX_new() else { throw unavailable() }
    return (context, cipher.pointer)
  }

  private static func start(of key: UnsafeRawBufferPointer) -> UnsafePointer<UInt8>? {
    key.baseAddress?.assumingMemoryBound(to: UInt8.self)
  }

  private static func unavailable() -> JOSEError {
    JOSEError(.unavailable, "OpenSSL cannot encrypt or decrypt: \(OpenSSL.drainErrors() ?? "no memory")")
  }
}
