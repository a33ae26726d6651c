/// Algorithm and parameters of imported hashes, checked.
///
/// Printing it shows its name only: a signer key is a secret.
public struct ImportAlgorithm: Sendable, Hashable, CustomStringConvertible {
  let method: HashingMethod

  init(_ method: HashingMethod) {
    self.method = method
  }

  /// - Throws: ``PasswordHashingError/invalid(field:rule:)`` for the first parameter that is absent or out of bounds.
  public init(_ fields: Fields) throws(PasswordHashingError) {
    method = try HashingMethod(fields)
  }

  /// Name of the algorithm in Firebase's words, such as `SCRYPT`.
  public var name: String { method.fields.hashAlgorithm }

  public var description: String { name }

  /// A hash that another system made.
  ///
  /// - Parameters:
  ///   - hash: its bytes. For `BCRYPT` the text with its cost and salt, `$2b$…`.
  ///   - salt: its bytes, which may be none. Ignored for `BCRYPT`.
  /// - Throws: ``PasswordHashingError/invalid(field:rule:)`` when a length or the cost is out of bounds.
  public func hash(_ hash: [UInt8], salt: [UInt8]) throws(PasswordHashingError) -> PasswordHash {
    try method.check(hash, salt: salt)
    let made = PasswordHash(algorithm: self, hash: hash, salt: method == .bcrypt ? [] : salt)
    guard made.stored.utf8.count <= PasswordHash.longest else {
      throw .invalid(field: "passwordHash", rule: "takes more than \(PasswordHash.longest) bytes with its parameters")
    }
    return made
  }
}

extension ImportAlgorithm: CustomDebugStringConvertible, CustomReflectable {
  public var debugDescription: String { name }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension ImportAlgorithm: Codable {
  /// Decodes and checks ``Fields``.
  public init(from decoder: any Decoder) throws {
    try self.init(Fields(from: decoder))
  }

  public func encode(to encoder: any Encoder) throws {
    try method.fields.encode(to: encoder)
  }

  /// Members of Firebase's `uploadAccount` and of `accounts:batchCreate`, unchecked. Bytes are base64 in either
  /// alphabet.
  public struct Fields: Sendable, Hashable, Codable {
    public var hashAlgorithm: String
    public var signerKey: String?
    public var saltSeparator: String?
    public var rounds: Int?
    /// Exponent of two for `SCRYPT`. The number itself for `STANDARD_SCRYPT`, as `cpuMemCost` is.
    public var memoryCost: Int?
    public var cpuMemCost: Int?
    public var parallelization: Int?
    public var blockSize: Int?
    public var dkLen: Int?
    public var passwordHashOrder: String?
    public var argon2Parameters: Argon2Fields?

    public init(_ hashAlgorithm: String) {
      self.hashAlgorithm = hashAlgorithm
    }
  }

  /// Members of `argon2Parameters`.
  public struct Argon2Fields: Sendable, Hashable, Codable {
    public var hashLengthBytes: Int?
    public var hashType: String?
    public var parallelism: Int?
    public var iterations: Int?
    public var memoryCostKib: Int?
    public var version: String?
    public var associatedData: String?

    public init() {}
  }
}

/// A key prints no more than a checked algorithm does.
extension ImportAlgorithm.Fields: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { hashAlgorithm }
  public var debugDescription: String { hashAlgorithm }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
