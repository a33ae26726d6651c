internal import CSodium
internal import CountersignCryptography
public import CountersignTelemetry

/// Hash of a password with the algorithm, parameters and salt that made it.
///
/// It does not print. Hashing takes tens of milliseconds and of megabytes: see ``HashingPool``.
public struct PasswordHash: Sendable, Hashable {
  /// Maximum length of a password in bytes of UTF-8.
  public static let longestPassword = 4_096
  /// Maximum length of ``stored`` in bytes.
  public static let longest = 2_048

  let algorithm: ImportAlgorithm
  let hash: [UInt8]
  let salt: [UInt8]

  private static let current = ImportAlgorithm(.argon2(.current))

  /// A hash that no password has, with today's parameters: what a sign-in compares with where an address has no
  /// account.
  public static let ofNobody = PasswordHash(
    algorithm: current, hash: SecureRandom.bytes(Argon2.current.length), salt: SecureRandom.bytes(Argon2.saltLength))

  /// Hashes a password with today's algorithm, Argon2id, and a new salt.
  /// - Throws: ``PasswordHashingError/invalid(field:rule:)`` for a password beyond ``longestPassword``, and
  ///   ``PasswordHashingError/unavailable``.
  public static func make(_ password: Secret) throws(PasswordHashingError) -> PasswordHash {
    var bytes = Array(password.reveal().utf8)
    defer { sodium_memzero(&bytes, bytes.count) }
    guard bytes.count <= longestPassword else {
      throw .invalid(field: "password", rule: "is longer than \(longestPassword) bytes")
    }
    let salt = SecureRandom.bytes(Argon2.saltLength)
    let hash = try current.method.hash(bytes, salt: salt, like: [])
    return PasswordHash(algorithm: current, hash: hash, salt: salt)
  }

  /// Whether the password has this hash. A password beyond ``longestPassword`` has none.
  /// - Throws: ``PasswordHashingError/unavailable``.
  public func matches(_ password: Secret) throws(PasswordHashingError) -> Bool {
    var bytes = Array(password.reveal().utf8)
    defer { sodium_memzero(&bytes, bytes.count) }
    guard bytes.count <= Self.longestPassword else { return false }
    return constantTimeEquals(try algorithm.method.hash(bytes, salt: salt, like: hash), hash)
  }

  /// Whether it was made with today's algorithm and parameters. Others are replaced at the next sign-in.
  public var isCurrent: Bool { algorithm == Self.current && salt.count == Argon2.saltLength }

  /// A hash that no password has and that takes as long as this one. It is the same for all hashes of a cost, and has
  /// nothing of theirs: neither key nor salt.
  public var decoy: PasswordHash {
    let zeros = [UInt8](repeating: 0, count: hash.count)
    let hash = algorithm.method == .bcrypt ? Bcrypt.decoy(of: hash) : zeros
    return PasswordHash(
      algorithm: ImportAlgorithm(algorithm.method.decoy), hash: hash,
      salt: [UInt8](repeating: 0, count: algorithm.method.decoySaltLength(of: salt)))
  }

  /// Name of the algorithm in Firebase's words, and the bytes that ``ImportAlgorithm/hash(_:salt:)`` takes.
  public var exported: (algorithm: String, hash: [UInt8], salt: [UInt8]) { (algorithm.name, hash, salt) }
}

extension PasswordHash: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { Redaction.placeholder }
  public var debugDescription: String { Redaction.placeholder }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
