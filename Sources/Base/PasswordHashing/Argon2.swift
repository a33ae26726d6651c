internal import CArgon2
internal import CSodium

/// Argon2 (RFC 9106) with its parameters.
struct Argon2: Sendable, Hashable {
  /// The variants, by their name in `argon2Parameters.hashType`.
  enum Variant: String, Sendable {
    case d = "ARGON2_D"
    case i = "ARGON2_I"
    case id = "ARGON2_ID"
  }

  /// The versions, by their name in `argon2Parameters.version`.
  enum Version: String, Sendable {
    case v10 = "VERSION_10"
    case v13 = "VERSION_13"
  }

  var variant = Variant.id
  var version = Version.v13
  /// In KiB.
  var memory: Int
  var passes: Int
  var lanes = 1
  var associatedData: [UInt8] = []
  /// Of the hash, in bytes.
  var length = 32

  /// Parameters of our own hashes: 19 MiB, two passes, one lane (OWASP Password Storage Cheat Sheet, "Argon2id").
  static let current = Self(memory: 19_456, passes: 2)
  /// Length of the salts of our own hashes, the one that libsodium takes.
  static let saltLength = 16

  /// - Returns: `nil` without memory.
  func hash(_ password: [UInt8], salt: [UInt8]) -> [UInt8]? {
    let isOrdinary = variant == .id && version == .v13 && lanes == 1 && associatedData.isEmpty
    return isOrdinary && salt.count == Self.saltLength && length >= 16
      ? hashWithSodium(password, salt: salt) : hashWithReference(password, salt: salt)
  }

  /// Twice as fast, but without lanes, versions and salts of other lengths.
  private func hashWithSodium(_ password: [UInt8], salt: [UInt8]) -> [UInt8]? {
    guard Sodium.isReady else { return nil }
    var hash = [UInt8](repeating: 0, count: length)
    var phrase = password.map(CChar.init(bitPattern:))
    defer { sodium_memzero(&phrase, phrase.count) }
    let code = crypto_pwhash_argon2id(
      &hash, UInt64(clamping: length), phrase, UInt64(clamping: phrase.count), salt, UInt64(clamping: passes),
      memory << 10, crypto_pwhash_argon2id_alg_argon2id13())
    return code == 0 ? hash : nil
  }

  private func hashWithReference(_ password: [UInt8], salt: [UInt8]) -> [UInt8]? {
    var (password, salt, associatedData) = (password, salt, associatedData)
    defer { sodium_memzero(&password, password.count) }
    var hash = [UInt8](repeating: 0, count: length)
    let code = hash.withUnsafeMutableBufferPointer { hash in
      password.withUnsafeMutableBufferPointer { password in
        salt.withUnsafeMutableBufferPointer { salt in
          associatedData.withUnsafeMutableBufferPointer { data in
            run(hash: hash, password: password, salt: salt, data: data)
          }
        }
      }
    }
    return code == ARGON2_OK.rawValue ? hash : nil
  }

  private typealias Bytes = UnsafeMutableBufferPointer<UInt8>

  private func run(hash: Bytes, password: Bytes, salt: Bytes, data: Bytes) -> Int32 {
    var context = argon2_context()
    (context.out, context.outlen) = (hash.baseAddress, UInt32(clamping: hash.count))
    (context.pwd, context.pwdlen) = (password.baseAddress, UInt32(clamping: password.count))
    (context.salt, context.saltlen) = (salt.baseAddress, UInt32(clamping: salt.count))
    (context.ad, context.adlen) = (data.baseAddress, UInt32(clamping: data.count))
    (context.t_cost, context.m_cost) = (UInt32(clamping: passes), UInt32(clamping: memory))
    // One thread works all lanes: a pool bounds how many there are.
    (context.lanes, context.threads) = (UInt32(clamping: lanes), 1)
    context.version = (version == .v10 ? ARGON2_VERSION_10 : ARGON2_VERSION_13).rawValue
    let type =
      switch variant {
      case .d: Argon2_d
      case .i: Argon2_i
      case .id: Argon2_id
      }
    return argon2_ctx(&context, type)
  }
}

enum Sodium {
  /// Chooses the fastest code for the processor, for scrypt as well. Any thread may be the first.
  static let isReady = sodium_init() >= 0
}
