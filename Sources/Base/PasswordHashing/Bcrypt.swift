internal import CCrypt
internal import CSodium

/// Hashes of bcrypt as texts: `$2b$`, two digits of cost, `$`, 22 characters of salt and 31 of hash.
///
/// The first 72 bytes of a password count, as everywhere. One with a zero byte matches no hash: libraries disagree
/// about it.
enum Bcrypt {
  static let settingLength = 29
  static let length = 60
  static let longestPassword = 72
  /// `sizeof(struct crypt_data)`, which libcrypt promises.
  private static let workspace = 32_768

  static func check(_ text: [UInt8]) throws(PasswordHashingError) {
    let isWellFormed =
      text.count == length && text.starts(with: "$2".utf8) && "aby".utf8.contains(text[2])
      && text[3] == UInt8(ascii: "$") && text[6] == UInt8(ascii: "$") && text[7...].allSatisfy(isDigit)
    guard isWellFormed, let cost = Int(String(decoding: text[4...5], as: UTF8.self)) else {
      throw .invalid(field: "passwordHash", rule: "is not a hash of bcrypt, such as $2b$10$…")
    }
    try HashingBounds.bcryptCost.check(cost, "passwordHash", unit: "as the cost of bcrypt")
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: ".")...UInt8(ascii: "9"):
      true
    default: false
    }
  }

  /// A text of the same cost that nothing is known to hash to.
  static func decoy(of text: [UInt8]) -> [UInt8] {
    Array("$2b".utf8) + text[3..<7] + [UInt8](repeating: UInt8(ascii: "."), count: length - 7)
  }

  /// - Parameter other: text that was checked, whose cost, salt and prefix the result has.
  /// - Returns: no bytes for a password that no hash has, and `nil` when libcrypt lacks memory.
  static func hash(_ password: [UInt8], like other: [UInt8]) -> [UInt8]? {
    guard !password.contains(0) else { return [] }
    var phrase = password.prefix(longestPassword).map(CChar.init(bitPattern:)) + [0]
    defer { sodium_memzero(&phrase, phrase.count) }
    // For `$2a$` libcrypt would add a measure against a mistake of its own past, which other libraries do not have.
    let setting = "$2b".utf8.map(CChar.init(bitPattern:)) + other[3..<settingLength].map(CChar.init(bitPattern:)) + [0]
    return withUnsafeTemporaryAllocation(byteCount: workspace, alignment: 16) { memory -> [UInt8]? in
      guard let start = memory.baseAddress else { return nil }
      sodium_memzero(start, memory.count)
      defer { sodium_memzero(start, memory.count) }
      guard let text = crypt_rn(phrase, setting, start, Int32(clamping: memory.count)) else { return nil }
      let made = Array(String(cString: text).utf8)
      // Of the last character of the salt four bits count for nothing, and not all libraries leave them out.
      return made.count == length ? Array(other[..<settingLength] + made[settingLength...]) : nil
    }
  }
}
