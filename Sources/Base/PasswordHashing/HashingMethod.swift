internal import CountersignCryptography

/// Algorithm with its parameters, all within ``HashingBounds``.
enum HashingMethod: Sendable, Hashable {
  case hmac(HMAC.Digest, key: [UInt8], HashInputOrder)
  case digest(HMAC.Digest, rounds: Int, HashInputOrder)
  case pbkdf2(HMAC.Digest, rounds: Int)
  case firebaseScrypt(FirebaseScrypt)
  case scrypt(ScryptCost, length: Int)
  case bcrypt
  case argon2(Argon2)

  /// Hash of a password. Takes as long as the parameters say.
  ///
  /// - Parameter other: hash that the result is compared with, which has the length, and for bcrypt cost and salt.
  func hash(_ password: [UInt8], salt: [UInt8], like other: [UInt8]) throws(PasswordHashingError) -> [UInt8] {
    let made: [UInt8]? =
      switch self {
      case .hmac(let digest, let key, let order):
        HMAC.authenticate(order.join(password, salt), key: key, digest: digest)
      case .digest(let digest, let rounds, let order):
        Self.chain(order.join(password, salt), digest, rounds: rounds)
      case .pbkdf2(let digest, let rounds):
        PBKDF2.derive(other.count, from: password, salt: salt, rounds: rounds, digest: digest)
      case .firebaseScrypt(let scrypt): scrypt.hash(password, salt: salt)
      case .scrypt(let cost, let length): cost.derive(length, from: password, salt: salt)
      case .bcrypt: Bcrypt.hash(password, like: other)
      case .argon2(let argon2): argon2.hash(password, salt: salt)
      }
    guard let made else { throw .unavailable }
    return made
  }

  /// Digest of a digest, and so on. No round and one are the same.
  private static func chain(_ message: [UInt8], _ digest: HMAC.Digest, rounds: Int) -> [UInt8]? {
    var hash = digest.hash(message)
    for _ in 1..<max(1, rounds) { hash = hash.flatMap(digest.hash) }
    return hash
  }

  /// Checks lengths that parameters prescribe, and costs that hash and parameters have together.
  func check(_ hash: [UInt8], salt: [UInt8]) throws(PasswordHashingError) {
    try HashingBounds.salt.check(salt.count, "salt")
    switch self {
    case .hmac(let digest, _, _), .digest(let digest, _, _): try Self.check(hash, has: digest.length)
    case .pbkdf2(let digest, let rounds):
      try HashingBounds.pbkdf2Hash.check(hash.count, "passwordHash")
      let blocks = (hash.count + digest.length - 1) / digest.length
      try HashingBounds.pbkdf2Work.check(blocks * rounds, "rounds", unit: "rounds for the length of the hash")
    case .firebaseScrypt(let scrypt): try Self.check(hash, has: scrypt.signerKey.count)
    case .scrypt(_, let length): try Self.check(hash, has: length)
    case .bcrypt: try Bcrypt.check(hash)
    case .argon2(let argon2):
      try HashingBounds.argon2Salt.check(salt.count, "salt")
      try Self.check(hash, has: argon2.length)
    }
  }

  /// The same work, with zeros in the place of secrets.
  var decoy: HashingMethod {
    switch self {
    case .hmac(let digest, let key, let order): return .hmac(digest, key: Self.zeros(like: key), order)
    case .firebaseScrypt(let scrypt):
      return .firebaseScrypt(
        FirebaseScrypt(
          signerKey: Self.zeros(like: scrypt.signerKey), separator: Self.zeros(like: scrypt.separator),
          rounds: scrypt.rounds, memoryCost: scrypt.memoryCost))
    case .argon2(var argon2):
      argon2.associatedData = Self.zeros(like: argon2.associatedData)
      return .argon2(argon2)
    case .digest, .pbkdf2, .scrypt, .bcrypt: return self
    }
  }

  /// That of Argon2 chooses the code that runs. Of others the length costs nothing, and bcrypt has it in the hash.
  func decoySaltLength(of salt: [UInt8]) -> Int {
    switch self {
    case .argon2: salt.count
    case .bcrypt: 0
    case .hmac, .digest, .pbkdf2, .firebaseScrypt, .scrypt: Argon2.saltLength
    }
  }

  private static func zeros(like bytes: [UInt8]) -> [UInt8] { [UInt8](repeating: 0, count: bytes.count) }

  private static func check(_ hash: [UInt8], has count: Int) throws(PasswordHashingError) {
    guard hash.count == count else { throw .invalid(field: "passwordHash", rule: "has to have \(count) bytes") }
  }
}

/// Order of password and salt in the bytes that are hashed, `passwordHashOrder`.
enum HashInputOrder: String, Sendable, Hashable {
  case saltAndPassword = "SALT_AND_PASSWORD"
  case passwordAndSalt = "PASSWORD_AND_SALT"

  func join(_ password: [UInt8], _ salt: [UInt8]) -> [UInt8] {
    switch self {
    case .saltAndPassword: salt + password
    case .passwordAndSalt: password + salt
    }
  }
}
