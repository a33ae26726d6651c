import CountersignEncoding
import CountersignTelemetry
import PasswordHashing
import Testing

/// One hash of another system, with the password that it is of.
struct ImportVector: Sendable, CustomTestStringConvertible {
  let fields: ImportAlgorithm.Fields
  let password: String
  let hash: String
  let salt: String

  init(_ fields: ImportAlgorithm.Fields, _ password: String, _ hash: String, salt: String = "salt") {
    self.fields = fields
    self.password = password
    self.hash = hash
    self.salt = salt
  }

  func made() throws -> PasswordHash {
    let hash = try #require(AnyBase64.decode(hash))
    return try ImportAlgorithm(fields).hash(hash, salt: #require(ImportVectors.salts[salt]))
  }

  func secret() throws -> Secret { try Secret(#require(ImportVectors.passwords[password])) }

  var testDescription: String { "\(fields.hashAlgorithm) \(password)" }
}

extension ImportAlgorithm.Fields {
  static var bcrypt: Self { Self("BCRYPT") }

  static func keyed(_ name: String, _ order: String) -> Self {
    var fields = Self(name)
    (fields.signerKey, fields.passwordHashOrder) = (Base64.encode(Array("signer key".utf8)), order)
    return fields
  }

  static func rounds(_ name: String, _ rounds: Int, _ order: String? = nil) -> Self {
    var fields = Self(name)
    (fields.rounds, fields.passwordHashOrder) = (rounds, order)
    return fields
  }

  static func firebase(key: String, separator: String? = nil, rounds: Int, memoryCost: Int) -> Self {
    var fields = Self("SCRYPT")
    (fields.signerKey, fields.saltSeparator) = (key, separator)
    (fields.rounds, fields.memoryCost) = (rounds, memoryCost)
    return fields
  }

  static func scrypt(_ number: Int, _ blockSize: Int, _ lanes: Int, _ length: Int) -> Self {
    var fields = Self("STANDARD_SCRYPT")
    (fields.memoryCost, fields.blockSize) = (number, blockSize)
    (fields.parallelization, fields.dkLen) = (lanes, length)
    return fields
  }

  static func argon2(
    _ type: String, _ version: String?, lanes: Int = 1, length: Int = 24, data: String? = nil,
    memory: Int = 64, passes: Int = 2
  ) -> Self {
    var fields = Self("ARGON2")
    var argon2 = ImportAlgorithm.Argon2Fields()
    (argon2.hashType, argon2.version, argon2.associatedData) = (type, version, data)
    (argon2.parallelism, argon2.iterations, argon2.memoryCostKib) = (lanes, passes, memory)
    argon2.hashLengthBytes = length
    fields.argon2Parameters = argon2
    return fields
  }
}
