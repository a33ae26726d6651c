internal import CountersignCryptography
internal import CountersignEncoding

extension HashingMethod {
  /// - Throws: the first parameter that is absent or out of bounds.
  init(_ fields: ImportAlgorithm.Fields) throws(PasswordHashingError) {
    switch fields.hashAlgorithm {
    case "HMAC_SHA512": self = try .hmac(.sha512, key: fields.key(), fields.order())
    case "HMAC_SHA256": self = try .hmac(.sha256, key: fields.key(), fields.order())
    case "HMAC_SHA1": self = try .hmac(.sha1, key: fields.key(), fields.order())
    case "HMAC_MD5": self = try .hmac(.md5, key: fields.key(), fields.order())
    case "MD5":
      let rounds = fields.rounds ?? 0
      try HashingBounds.md5Rounds.check(rounds, "rounds")
      self = try .digest(.md5, rounds: rounds, fields.order())
    case "SHA1": self = try .digest(.sha1, rounds: fields.digestRounds(), fields.order())
    case "SHA256": self = try .digest(.sha256, rounds: fields.digestRounds(), fields.order())
    case "SHA512": self = try .digest(.sha512, rounds: fields.digestRounds(), fields.order())
    case "PBKDF_SHA1": self = try .pbkdf2(.sha1, rounds: HashingBounds.pbkdf2Rounds.check(fields.rounds, "rounds"))
    case "PBKDF2_SHA256":
      self = try .pbkdf2(.sha256, rounds: HashingBounds.pbkdf2Rounds.check(fields.rounds, "rounds"))
    case "SCRYPT": self = try .firebaseScrypt(fields.firebaseScrypt())
    case "STANDARD_SCRYPT": self = try fields.scrypt()
    case "BCRYPT": self = .bcrypt
    case "ARGON2": self = try .argon2(fields.argon2())
    default: throw .invalid(field: "hashAlgorithm", rule: "is not one that can be imported")
    }
    guard digest?.hash([]) != nil || digest == nil else {
      throw .invalid(field: "hashAlgorithm", rule: "is switched off by this machine's OpenSSL")
    }
  }

  private var digest: HMAC.Digest? {
    switch self {
    case .hmac(let digest, _, _), .digest(let digest, _, _), .pbkdf2(let digest, _): digest
    case .firebaseScrypt, .scrypt, .bcrypt, .argon2: nil
    }
  }

  /// The parameters that count, in Firebase's words.
  var fields: ImportAlgorithm.Fields {
    var fields = ImportAlgorithm.Fields(name)
    switch self {
    case .hmac(_, let key, let order):
      (fields.signerKey, fields.passwordHashOrder) = (Base64URL.encode(key), order.rawValue)
    case .digest(_, let rounds, let order): (fields.rounds, fields.passwordHashOrder) = (rounds, order.rawValue)
    case .pbkdf2(_, let rounds): fields.rounds = rounds
    case .firebaseScrypt(let scrypt):
      (fields.signerKey, fields.saltSeparator) =
        (Base64URL.encode(scrypt.signerKey), Base64URL.encode(scrypt.separator))
      (fields.rounds, fields.memoryCost) = (scrypt.rounds, scrypt.memoryCost)
    case .scrypt(let cost, let length):
      (fields.memoryCost, fields.blockSize) = (cost.number, cost.blockSize)
      (fields.parallelization, fields.dkLen) = (cost.lanes, length)
    case .bcrypt: break
    case .argon2(let argon2): fields.argon2Parameters = argon2.fields
    }
    return fields
  }

  private var name: String {
    switch self {
    case .hmac(let digest, _, _): "HMAC_" + digest.importName
    case .digest(let digest, _, _): digest.importName
    case .pbkdf2(let digest, _): digest == .sha1 ? "PBKDF_SHA1" : "PBKDF2_SHA256"
    case .firebaseScrypt: "SCRYPT"
    case .scrypt: "STANDARD_SCRYPT"
    case .bcrypt: "BCRYPT"
    case .argon2: "ARGON2"
    }
  }
}

extension HMAC.Digest {
  fileprivate var importName: String {
    switch self {
    case .md5: "MD5"
    case .sha1: "SHA1"
    case .sha256: "SHA256"
    case .sha384: "SHA384"
    case .sha512: "SHA512"
    }
  }
}

extension Argon2 {
  fileprivate var fields: ImportAlgorithm.Argon2Fields {
    var fields = ImportAlgorithm.Argon2Fields()
    (fields.hashType, fields.version) = (variant.rawValue, version.rawValue)
    (fields.memoryCostKib, fields.iterations, fields.parallelism) = (memory, passes, lanes)
    fields.hashLengthBytes = length
    if !associatedData.isEmpty { fields.associatedData = Base64URL.encode(associatedData) }
    return fields
  }
}

extension ImportAlgorithm.Fields {
  fileprivate func key() throws(PasswordHashingError) -> [UInt8] {
    try Self.bytes(signerKey ?? "", "signerKey", HashingBounds.key)
  }

  /// Salt first unless something else is said, as Firebase does it.
  fileprivate func order() throws(PasswordHashingError) -> HashInputOrder {
    switch passwordHashOrder {
    case nil, "", "UNSPECIFIED_ORDER": return .saltAndPassword
    case .some(let name):
      guard let order = HashInputOrder(rawValue: name) else {
        throw .invalid(field: "passwordHashOrder", rule: "is neither SALT_AND_PASSWORD nor PASSWORD_AND_SALT")
      }
      return order
    }
  }

  fileprivate func digestRounds() throws(PasswordHashingError) -> Int {
    try HashingBounds.digestRounds.check(rounds, "rounds")
  }

  fileprivate func firebaseScrypt() throws(PasswordHashingError) -> FirebaseScrypt {
    try FirebaseScrypt(
      signerKey: key(), separator: Self.bytes(saltSeparator ?? "", "saltSeparator", HashingBounds.separator),
      rounds: HashingBounds.firebaseRounds.check(rounds, "rounds"),
      memoryCost: HashingBounds.firebaseMemory.check(memoryCost, "memoryCost"))
  }

  fileprivate func scrypt() throws(PasswordHashingError) -> HashingMethod {
    let field = memoryCost == nil ? "cpuMemCost" : "memoryCost"
    let cost = try ScryptCost(
      number: HashingBounds.scryptNumber.check(memoryCost ?? cpuMemCost, field),
      blockSize: HashingBounds.scryptSmall.check(blockSize, "blockSize"),
      lanes: HashingBounds.scryptSmall.check(parallelization, "parallelization"))
    try cost.check(field)
    return try .scrypt(cost, length: HashingBounds.scryptHash.check(dkLen, "dkLen"))
  }

  fileprivate func argon2() throws(PasswordHashingError) -> Argon2 {
    let fields = argon2Parameters ?? ImportAlgorithm.Argon2Fields()
    guard let variant = Argon2.Variant(rawValue: fields.hashType ?? "") else {
      throw .invalid(field: "argon2Parameters.hashType", rule: "is none of ARGON2_D, ARGON2_I and ARGON2_ID")
    }
    guard let version = Argon2.Version(rawValue: fields.version ?? Argon2.Version.v13.rawValue) else {
      throw .invalid(field: "argon2Parameters.version", rule: "is neither VERSION_10 nor VERSION_13")
    }
    let lanes = try HashingBounds.argon2Lanes.check(fields.parallelism, "argon2Parameters.parallelism")
    let passes = try HashingBounds.argon2Passes.check(fields.iterations, "argon2Parameters.iterations")
    let memory = try Bound(8 * lanes...HashingBounds.memory >> 10)
      .check(fields.memoryCostKib, "argon2Parameters.memoryCostKib")
    try HashingBounds.argon2Work.check(memory * passes, "argon2Parameters.memoryCostKib", unit: "KiB in all iterations")
    return try Argon2(
      variant: variant, version: version, memory: memory, passes: passes, lanes: lanes,
      associatedData: Self.bytes(
        fields.associatedData ?? "", "argon2Parameters.associatedData", HashingBounds.associatedData),
      length: HashingBounds.argon2Hash.check(fields.hashLengthBytes, "argon2Parameters.hashLengthBytes"))
  }

  private static func bytes(_ text: String, _ field: String, _ bound: Bound) throws(PasswordHashingError) -> [UInt8] {
    guard let bytes = AnyBase64.decode(text) else { throw .invalid(field: field, rule: "is not base64") }
    try bound.check(bytes.count, field, unit: "bytes")
    return bytes
  }
}
