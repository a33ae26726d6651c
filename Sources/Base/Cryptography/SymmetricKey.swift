internal import CountersignCOpenSSL

/// A secret key with its name. Its bytes are erased when the last copy goes away, and never printed.
public struct SymmetricKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The length of a key for A256GCM in bytes (RFC 7518, section 5.3).
  public static let length = 32

  /// The `kid` of the key's JWK: what sealed texts name it by.
  public let id: String
  private let storage: Storage

  /// - Parameters:
  ///   - id: 1 to 128 printable ASCII characters.
  ///   - bytes: 32 bytes.
  /// - Throws: ``JOSEError/Code/badKey``.
  public init(id: String, bytes: [UInt8]) throws(JOSEError) {
    guard Self.isUsable(id) else {
      throw JOSEError(.badKey, "a key's kid has 1 to 128 printable ASCII characters", keyID: JOSEError.printable(id))
    }
    guard bytes.count == Self.length else {
      throw JOSEError(.badKey, "key \"\(id)\" has \(bytes.count) bytes instead of \(Self.length)", keyID: id)
    }
    self.id = id
    self.storage = Storage(bytes)
  }

  /// Lends the bytes. They must not leave the closure.
  public func withUnsafeBytes<T>(_ body: (UnsafeRawBufferPointer) -> T) -> T {
    body(UnsafeRawBufferPointer(storage.buffer))
  }

  public var description: String { "SymmetricKey(\(id), <redacted>)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["id": id]) }

  private static func isUsable(_ id: String) -> Bool {
    (1...128).contains(id.utf8.count) && id.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
  }
}

extension SymmetricKey {
  /// The memory of a key. Sendable although it has a pointer: it is written in `init` only, and freed when nobody has it any more.
  private final class Storage: @unchecked Sendable {
    let buffer: UnsafeMutableRawBufferPointer

    init(_ bytes: [UInt8]) {
      buffer = .allocate(byteCount: bytes.count, alignment: 16)
      buffer.copyBytes(from: bytes)
    }

    deinit {
      OPENSSL_cleanse(buffer.baseAddress, buffer.count)
      buffer.deallocate()
    }
  }
}
