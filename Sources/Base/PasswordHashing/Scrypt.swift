internal import CSodium
internal import CountersignCryptography

/// Cost of scrypt (RFC 7914).
struct ScryptCost: Sendable, Hashable {
  /// N, a power of two.
  let number: Int
  /// r.
  let blockSize: Int
  /// p.
  let lanes: Int

  /// Checks memory and time. No product overflows: each factor is bounded first.
  func check(_ field: String) throws(PasswordHashingError) {
    guard number & (number - 1) == 0 else { throw .invalid(field: field, rule: "is not a power of two") }
    guard (number + lanes) * blockSize * 128 <= HashingBounds.memory else {
      throw .invalid(field: field, rule: "takes more than \(HashingBounds.memory >> 20) MiB with the block size")
    }
    try HashingBounds.scryptWork.check(number * blockSize * lanes, field, unit: "with block size and parallelization")
  }

  /// - Returns: `nil` without memory.
  func derive(_ length: Int, from password: [UInt8], salt: [UInt8]) -> [UInt8]? {
    guard Sodium.isReady else { return nil }
    var key = [UInt8](repeating: 0, count: length)
    let code = crypto_pwhash_scryptsalsa208sha256_ll(
      password, password.count, salt, salt.count, UInt64(clamping: number), UInt32(clamping: blockSize),
      UInt32(clamping: lanes), &key, key.count)
    return code == 0 ? key : nil
  }
}

/// Firebase's scrypt (github.com/firebase/scrypt): the derived key encrypts the project's signer key, and the result is
/// the hash.
struct FirebaseScrypt: Sendable, Hashable {
  let signerKey: [UInt8]
  let separator: [UInt8]
  let rounds: Int
  let memoryCost: Int

  func hash(_ password: [UInt8], salt: [UInt8]) -> [UInt8]? {
    let cost = ScryptCost(number: 1 << memoryCost, blockSize: rounds, lanes: 1)
    guard var key = cost.derive(64, from: password, salt: salt + separator) else { return nil }
    defer { sodium_memzero(&key, key.count) }
    return AES256Counter.encrypt(signerKey, key: Array(key.prefix(AES256Counter.keyLength)))
  }
}
