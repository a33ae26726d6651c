internal import CountersignCOpenSSL
internal import Synchronization

/// A key for HMAC with SHA-256 that is used again and again: prepared once, which is most of the work for a short message.
///
/// It does not print, and it is erased when nobody has it any more. Threads that use it at once take turns.
public final class HMACSHA256Key: Sendable, CustomStringConvertible {
  /// OpenSSL's context with the key set. Sendable although it is a pointer: only who holds the lock uses it.
  private struct Context: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  private let context: Mutex<Context>

  /// - Parameter key: of any length; 32 random bytes are right (RFC 2104, section 3).
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
