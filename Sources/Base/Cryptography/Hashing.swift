import CountersignCOpenSSL
import Synchronization

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
  /// The length of a hash in bytes.
  public static let length = 32

  /// - Returns: 32 bytes.
  public static func hash(_ message: [UInt8]) -> [UInt8] {
    guard let algorithm = OpenSSL.sha256 else { preconditionFailure("\(OpenSSL.missing)") }
    return [UInt8](unsafeUninitializedCapacity: length) { buffer, filled in
      let code = EVP_Digest(message, message.count, buffer.baseAddress, nil, algorithm.pointer, nil)
      precondition(code == 1, "OpenSSL has no memory for a hash")
      filled = length
    }
  }
}

/// HMAC (RFC 2104) with a digest that another system's interface prescribes. Our own interfaces use ``HMACSHA256``.
public enum HMAC {
  /// The digests.
  public enum Digest: String, Sendable, CaseIterable {
    /// For passwords that another system hashed.
    case md5 = "MD5"
    /// For signatures of providers that have no other. HMAC does not need a digest without collisions (RFC 6151,
    /// section 2.3).
    case sha1 = "SHA1"
    case sha256 = "SHA2-256"
    case sha384 = "SHA2-384"
    case sha512 = "SHA2-512"

    /// The length of a code in bytes.
    public var length: Int {
      switch self {
      case .md5: 16
      case .sha1: 20
      case .sha256: 32
      case .sha384: 48
      case .sha512: 64
      }
    }
  }

  /// - Parameters:
  ///   - message: bytes to authenticate.
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

/// HMAC with SHA-256 (RFC 2104, RFC 6234).
public enum HMACSHA256 {
  /// The length of an authentication code in bytes.
  public static let length = 32

  /// - Parameters:
  ///   - message: bytes to authenticate.
  ///   - key: of any length; 32 bytes are right.
  /// - Returns: 32 bytes. Compare them with ``constantTimeEquals(_:_:)``.
  public static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    key.withUnsafeBytes { authenticate(message, key: $0) }
  }

  /// The same with a key that is erased with its last reference.
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

/// A key for HMAC with SHA-256 that is used again and again: prepared once, which is most of the work for a short
/// message.
///
/// It does not print, and it is erased with its last reference. Threads that use it at once take turns.
public final class HMACSHA256Key: Sendable, CustomStringConvertible {
  /// OpenSSL's context with the key set. Sendable although it is a pointer: it is used under the lock only.
  private struct Context: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  private let context: Mutex<Context>

  /// - Parameter key: of any length. 32 random bytes are right (RFC 2104, section 3).
  public init(_ key: [UInt8]) {
    guard let template = OpenSSL.hmacSHA256 else { preconditionFailure("\(OpenSSL.missing)") }
    // A null key means "the one from before", which would be the template's: an empty key needs an address.
    let bytes = key.isEmpty ? [0] : key
    guard let pointer = EVP_MAC_CTX_dup(template.pointer), EVP_MAC_init(pointer, bytes, key.count, nil) == 1 else {
      preconditionFailure("OpenSSL has no memory for an HMAC")
    }
    context = Mutex(Context(pointer: pointer))
  }

  deinit {
    // Erases the key as well.
    context.withLock { EVP_MAC_CTX_free($0.pointer) }
  }

  /// - Returns: 32 bytes. Compare them with ``constantTimeEquals(_:_:)``.
  public func authenticate(_ message: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: HMACSHA256.length) { buffer, filled in
      let isDone = context.withLock { context in
        // Without a key it begins anew with the one that it has (EVP_MAC(3)).
        EVP_MAC_init(context.pointer, nil, 0, nil) == 1
          && EVP_MAC_update(context.pointer, message, message.count) == 1
          && EVP_MAC_final(context.pointer, buffer.baseAddress, &filled, HMACSHA256.length) == 1
      }
      precondition(isDone && filled == HMACSHA256.length, "OpenSSL has no memory for an HMAC")
    }
  }

  public var description: String { "<redacted>" }
}

/// Whether two secrets are equal, in a time that does not depend on where they differ. Their lengths are not secret.
public func constantTimeEquals(_ a: [UInt8], _ b: [UInt8]) -> Bool {
  guard a.count == b.count else { return false }
  return CRYPTO_memcmp(a, b, a.count) == 0
}
