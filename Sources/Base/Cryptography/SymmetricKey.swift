import CountersignCOpenSSL
import CountersignEncoding
import FoundationEssentials

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
    try Self.checkUsable(id)
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

  static func checkUsable(_ id: String) throws(JOSEError) {
    let isUsable =
      (1...128).contains(id.utf8.count) && id.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
    guard isUsable else {
      throw JOSEError(.badKey, "a key's kid has 1 to 128 printable ASCII characters", keyID: JOSEError.printable(id))
    }
  }
}

extension SymmetricKey {
  /// The memory of a key. Sendable although it has a pointer: it is written in `init` only, and freed with its last
  /// reference.
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

/// A set of keys as JSON (RFC 7517, section 5).
struct JWKSet: Codable {
  var keys: [JWK]
}

extension JWKSet {
  init(json: [UInt8]) throws(JOSEError) {
    do {
      self = try JSONReader(maxBytes: KeyRing.maxSetBytes).decode(JWKSet.self, from: json)
    } catch {
      let form = "{\"keys\": [{\"kty\": \"oct\", \"kid\": \"…\", \"k\": \"…\"}]}"
      throw JOSEError(.badKey, "the JWK set is not of the form \(form)\(Self.place(of: error))")
    }
  }

  private static func place(of error: any Error) -> String {
    let context: DecodingError.Context
    switch error as? DecodingError {
    case .keyNotFound(let key, let found): return ": \(path(found.codingPath + [key])) is missing"
    case .typeMismatch(_, let found), .valueNotFound(_, let found): context = found
    default: return ": it is not JSON"
    }
    return context.codingPath.isEmpty ? "" : ": \(path(context.codingPath)) is of the wrong type"
  }

  private static func path(_ keys: [any CodingKey]) -> String {
    keys.map { $0.intValue.map { "[\($0)]" } ?? "." + JOSEError.printable($0.stringValue) }.joined().trimmingPrefix(".")
      .description
  }
}

/// A key as JSON (RFC 7517, section 4; RFC 7518, section 6.4).
struct JWK: Codable {
  var kty: String
  var kid: String?
  var use: String?
  var operations: [String]?
  var alg: String?
  var k: String?

  private enum CodingKeys: String, CodingKey {
    case kty, kid, use, alg, k
    case operations = "key_ops"
  }

  func symmetricKey(at index: Int) throws(JOSEError) -> SymmetricKey {
    guard let kid else { throw JOSEError(.badKey, "key \(index + 1) of the JWK set has no kid") }
    let name = JOSEError.printable(kid)
    func refuse(_ reason: String) -> JOSEError {
      JOSEError(.badKey, "key \"\(name)\" of the JWK set \(reason)", keyID: name)
    }
    guard kty == "oct" else { throw refuse("has kty \"\(JOSEError.printable(kty))\" instead of \"oct\"") }
    // "dir" is what a JWE's alg says when the key itself encrypts; other tools write it here as well.
    guard alg == nil || alg == JWE.encryption || alg == JWE.algorithm else {
      throw refuse("has alg \"\(JOSEError.printable(alg ?? ""))\" instead of \"\(JWE.encryption)\"")
    }
    if let problem = KeyPurpose.encryption.problem(use: use, operations: operations) { throw refuse(problem) }
    guard let bytes = k.flatMap(Base64URL.decode) else { throw refuse("has no k in base64url") }
    return try SymmetricKey(id: kid, bytes: bytes)
  }
}
