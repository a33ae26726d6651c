internal import CountersignCOpenSSL

/// HMAC with SHA-256 (RFC 2104, RFC 6234).
public enum HMACSHA256 {
  /// The length of an authentication code in bytes.
  public static let length = 32

  /// - Parameters:
  ///   - message: what is authenticated.
  ///   - key: of any length; 32 bytes are right.
  /// - Returns: 32 bytes. Compare them with ``constantTimeEquals(_:_:)``.
  public static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    key.withUnsafeBytes { authenticate(message, key: $0) }
  }

  /// The same with a key that is erased when nobody has it any more.
  public static func authenticate(_ message: [UInt8], key: SymmetricKey) -> [UInt8] {
    key.withUnsafeBytes { authenticate(message, key: $0) }
  }

  private static func authenticate(_ message: [UInt8], key: UnsafeRawBufferPointer) -> [UInt8] {
    guard let template = OpenSSL.hmacSHA256 else { preconditionFailure("\(OpenSSL.missing)") }
    guard let context = EVP_MAC_CTX_dup(template.pointer) else {
      preconditionFailure("OpenSSL has no memory for an HMAC")
    }
    defer { EVP_MAC_CTX_free(context) }  // Erases the key as well.
    // A null key means "the one from before", which would be the template's: an empty key needs an address.
    var nothing: UInt8 = 0
    return [UInt8](unsafeUninitializedCapacity: length) { buffer, filled in
      let isDone = withUnsafePointer(to: &nothing) { placeholder in
        let start = key.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? placeholder
        return EVP_MAC_init(context, start, key.count, nil) == 1
          && EVP_MAC_update(context, message, message.count) == 1
          && EVP_MAC_final(context, buffer.baseAddress, &filled, length) == 1
      }
      precondition(isDone && filled == length, "OpenSSL has no memory for an HMAC")
    }
  }
}
