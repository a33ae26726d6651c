import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import Projects

/// Rules of passwords, and the pool that hashes them: in the stage of a command, never in its transaction.
struct Passwords: Sendable {
  /// Time within which a stage hashes, waiting for its turn included.
  static let longestStage = Duration.seconds(10)

  /// Compares a password with a hash.
  typealias Match = @Sendable (PasswordHash, Secret) throws(PasswordHashingError) -> Bool

  let pool: HashingPool
  private let matches: Match

  init(
    _ pool: HashingPool,
    matches: @escaping Match = { hash, password throws(PasswordHashingError) in try hash.matches(password) }
  ) {
    (self.pool, self.matches) = (pool, matches)
  }

  /// - Throws: `MISSING_PASSWORD`, or `WEAK_PASSWORD` with the rule that a new password breaks.
  func check(_ password: Secret, _ project: Project) throws(APIError) {
    let text = password.reveal()
    guard !text.isEmpty else { throw .missingPassword }
    let rules = project.passwords
    let length = text.unicodeScalars.count
    guard length >= rules.minLength else { throw .weak("should be at least \(rules.minLength) characters") }
    guard length <= Project.PasswordRules.maxLength, text.utf8.count <= PasswordHash.longestPassword else {
      throw .weak("should be at most \(Project.PasswordRules.maxLength) characters")
    }
    let bytes = text.utf8
    guard !rules.needsLowercase || bytes.contains(where: { (0x61...0x7A).contains($0) }) else {
      throw .weak("must contain a lower case character")
    }
    guard !rules.needsUppercase || bytes.contains(where: { (0x41...0x5A).contains($0) }) else {
      throw .weak("must contain an upper case character")
    }
    guard !rules.needsDigit || bytes.contains(where: { (0x30...0x39).contains($0) }) else {
      throw .weak("must contain a numeric character")
    }
    guard
      !rules.needsSymbol
        || text.unicodeScalars.contains(where: { !$0.properties.isAlphabetic && $0.properties.numericType == nil })
    else { throw .weak("must contain a non-alphanumeric character") }
  }

  /// - Throws: `INTERNAL_ERROR` with `retryAfter` while too many wait.
  func hash(_ password: Secret) async throws(APIError) -> PasswordHash {
    try await run { () throws(PasswordHashingError) in try PasswordHash.make(password) }
  }

  /// Compares a password with the hash of an account, if there is one.
  ///
  /// A wrong one is compared with one hash of today and one of the costs that were imported, the account's own among
  /// them: it takes as long whether the address has no account, no password, one of today or one of elsewhere.
  ///
  /// - Parameter decoy: what stands for an imported hash where there is none.
  /// - Throws: `INTERNAL_ERROR` with `retryAfter` while too many wait.
  func isRight(_ password: Secret, _ hash: PasswordHash?, decoy: PasswordHash?) async throws(APIError) -> Bool {
    let today: PasswordHash? = hash?.isCurrent == true ? nil : .ofNobody
    let imported = hash?.isCurrent == false ? nil : decoy
    return try await run { [matches] () throws(PasswordHashingError) in
      if let hash, try matches(hash, password) { return true }
      for other in [today, imported] { if let other { _ = try matches(other, password) } }
      return false
    }
  }

  private func run<Value: Sendable>(
    _ work: @Sendable @escaping () throws(PasswordHashingError) -> Value
  ) async throws(APIError) -> Value {
    do throws(PasswordHashingError) {
      return try await pool.run(work)
    } catch {
      throw .hashingBusy
    }
  }

  /// Name of the algorithm whose hashes are ``PasswordHash/stored`` texts: exports of this system.
  static let ownAlgorithm = "COUNTERSIGN"

  /// The hash of a user of another system. `nil` for one without a password.
  /// - Throws: `INVALID_ARGUMENT`, with the parameter that is wrong.
  func imported(_ user: UserFields, _ parameters: HashParameters?) throws(APIError) -> PasswordHash? {
    guard let text = user.passwordHash, !text.isEmpty else { return nil }
    guard let parameters else { throw .badHash("hashAlgorithm is needed for users with passwordHash") }
    guard let hash = AnyBase64.decode(text), let salt = AnyBase64.decode(user.salt ?? "") else {
      throw .badHash("passwordHash or salt is not base64")
    }
    guard parameters.hashAlgorithm != Self.ownAlgorithm else {
      guard let own = PasswordHash(stored: String(decoding: hash, as: UTF8.self)) else {
        throw .badHash("passwordHash is not a hash of this system")
      }
      return own
    }
    do throws(PasswordHashingError) {
      return try ImportAlgorithm(ImportAlgorithm.Fields(parameters)).hash(hash, salt: salt)
    } catch {
      throw .badHash("\(error)")
    }
  }
}

extension ImportAlgorithm.Fields {
  init(_ parameters: HashParameters) {
    self.init(parameters.hashAlgorithm)
    signerKey = parameters.signerKey
    saltSeparator = parameters.saltSeparator
    rounds = parameters.rounds
    memoryCost = parameters.memoryCost
    parallelization = parameters.parallelization
    blockSize = parameters.blockSize
    dkLen = parameters.dkLen
    passwordHashOrder = parameters.passwordHashOrder
    guard let argon2 = parameters.argon2Parameters else { return }
    var fields = ImportAlgorithm.Argon2Fields()
    fields.hashLengthBytes = argon2.hashLengthBytes
    fields.hashType = argon2.hashType
    fields.parallelism = argon2.parallelism
    fields.iterations = argon2.iterations
    fields.memoryCostKib = argon2.memoryCostKib
    fields.version = argon2.version
    fields.associatedData = argon2.associatedData
    argon2Parameters = fields
  }
}

extension APIError {
  static let missingPassword = APIError(.missingPassword, "a password is needed", field: "password")
  static let hashingBusy = APIError(
    .internalError, "too many passwords wait to be hashed: try again", retryAfter: 1, reason: "BUSY")

  /// - Parameter rule: in words that clients show.
  static func weak(_ rule: String) -> APIError {
    APIError(.weakPassword, "Password \(rule)", field: "password")
  }

  fileprivate static func badHash(_ text: String) -> APIError {
    APIError(.invalidArgument, text, field: "passwordHash")
  }
}
