/// Bounds of imported hashes: 64 MiB and about one second on one core for each.
enum HashingBounds {
  static let memory = 64 << 20

  // Firebase's own bounds.
  static let digestRounds = Bound(1...8_192)
  static let md5Rounds = Bound(0...8_192)
  static let pbkdf2Rounds = Bound(1...120_000)
  static let firebaseRounds = Bound(1...8)
  static let firebaseMemory = Bound(1...14)
  static let argon2Lanes = Bound(1...16)
  static let argon2Passes = Bound(1...16)
  static let argon2Hash = Bound(4...1_024)

  static let key = Bound(1...512)
  static let separator = Bound(0...64)
  static let associatedData = Bound(0...128)
  static let salt = Bound(0...128)
  static let argon2Salt = Bound(8...128)
  static let pbkdf2Hash = Bound(16...512)
  static let scryptHash = Bound(16...512)
  static let scryptNumber = Bound(2...1 << 20)
  static let scryptSmall = Bound(1...1_024)

  // Work of about a second on a core of 2 GHz and more.
  static let pbkdf2Work = Bound(0...1_000_000)
  /// Blocks of 128 bytes that are mixed: N × r × p.
  static let scryptWork = Bound(0...1_500_000)
  /// Blocks of 1 KiB that are filled: memory × passes.
  static let argon2Work = Bound(0...512 << 10)
  static let bcryptCost = Bound(4...13)
}

/// Range of a parameter.
struct Bound: Sendable {
  let range: ClosedRange<Int>

  init(_ range: ClosedRange<Int>) {
    self.range = range
  }

  func check(_ value: Int, _ field: String, unit: String = "") throws(PasswordHashingError) {
    guard range.contains(value) else {
      let suffix = unit.isEmpty ? "" : " \(unit)"
      throw .invalid(field: field, rule: "is not in \(range.lowerBound)…\(range.upperBound)\(suffix)")
    }
  }

  func check(_ value: Int?, _ field: String) throws(PasswordHashingError) -> Int {
    guard let value else { throw .invalid(field: field, rule: "is missing") }
    try check(value, field)
    return value
  }
}
