import CountersignCOpenSSL

/// The algorithms of OpenSSL that are used here, fetched once: fetching one takes longer than using it.
enum OpenSSL {
  /// An EVP_MD or EVP_CIPHER from a fetch.
  ///
  /// Sendable although it is a pointer: such objects do not change after the fetch, count their references atomically
  /// and may be used by all threads at once (crypto(7), "Algorithm fetching"); these are never freed.
  struct Algorithm: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  static let sha256 = EVP_MD_fetch(nil, "SHA2-256", nil).map(Algorithm.init)
  static let aes256GCM = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil).map(Algorithm.init)
  static let hmacSHA256 = makeHMACTemplate().map(Algorithm.init)

  static var isComplete: Bool { sha256 != nil && aes256GCM != nil && hmacSHA256 != nil }

  /// Reason for stopping the process in a non-throwing operation: it cannot continue, and it fails at the first call or
  /// never.
  static let missing: StaticString =
    "OpenSSL lacks AES-256-GCM or SHA-256: check that OPENSSL_CONF does not disable its default provider"

  /// Takes what this thread's operations left in its queue of errors, which would be taken for the next one's.
  @discardableResult
  static func drainErrors() -> String? {
    let oldest = ERR_get_error()
    guard oldest != 0 else { return nil }
    ERR_clear_error()
    return ERR_reason_error_string(oldest).map { String(cString: $0) } ?? "error \(oldest)"
  }

  /// A context with the digest chosen, to be copied for each use. A copy only reads its source, so threads may copy at
  /// once.
  private static func makeHMACTemplate() -> OpaquePointer? {
    guard let mac = EVP_MAC_fetch(nil, "HMAC", nil) else { return nil }
    defer { EVP_MAC_free(mac) }  // The context keeps its own reference.
    guard let context = EVP_MAC_CTX_new(mac) else { return nil }
    var digest = Array("SHA2-256".utf8CString)
    let parameters = [
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, &digest, 0), OSSL_PARAM_construct_end(),
    ]
    // Only a context with a key can be copied; every use sets its own.
    guard EVP_MAC_init(context, [UInt8](repeating: 0, count: 32), 32, parameters) == 1 else {
      EVP_MAC_CTX_free(context)
      return nil
    }
    return context
  }
}
