internal import CountersignCOpenSSL

/// HMAC (RFC 2104) with a digest that somebody else's interface prescribes. Where the choice is ours it is ``HMACSHA256``.
public enum HMAC {
  /// The digests.
  public enum Digest: String, Sendable, CaseIterable {
    /// For signatures of providers that have no other. HMAC does not need a digest without collisions (RFC 6151, section 2.3).
    case sha1 = "SHA1"
    case sha256 = "SHA2-256"
    case sha384 = "SHA2-384"
    case sha512 = "SHA2-512"

    /// The length of a code in bytes.
    public var length: Int {
      switch self {
      case .sha1: 20
      case .sha256: 32
      case .sha384: 48
      case .sha512: 64
      }
    }
  }

  /// - Parameters:
  ///   - message: what is authenticated.
  ///   - key: of any length but 0.
  ///   - digest: the digest.
  /// - Returns: ``Digest/length`` bytes. Compare them with ``constantTimeEquals(_:_:)``.
  public static func authenticate(_ message: [UInt8], key: [UInt8], digest: Digest) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: digest.length) { buffer, filled in
      let code = EVP_Q_mac(
        nil, "HMAC", nil, digest.rawValue, nil, key, key.count, message, message.count, buffer.baseAddress,
        digest.length, &filled)
      precondition(code != nil && filled == digest.length, "OpenSSL lacks HMAC or \(digest.rawValue)")
    }
  }
}
