import CountersignMessages
import CountersignTelemetry

/// Users of an import, in parts that fit a command.
struct ImportBatch: Sendable {
  struct Part: Sendable {
    var batch: UserBatch
    /// Places of the users in the call.
    var indices: [Int] = []
    fileprivate var bytes = 0
  }

  /// Maximum bytes of a part's users as JSON: sealed and in base64 a third more, below the limit of a message.
  private static let maxBytes = 40 * 1_024

  private let hash: HashParameters?
  private let keepsExisting: Bool?
  private var parts: [Part] = []
  /// Users that no command can carry.
  private(set) var refused: [RefusedUser] = []

  /// - Parameter allowsOverwrite: whether accounts of the same IDs are replaced. Absent, they are.
  init(hash: HashParameters?, allowsOverwrite: Bool?) {
    self.hash = hash
    keepsExisting = allowsOverwrite == false ? true : nil
  }

  /// Parts to ask for: one without users if there are none, so that accounts judges the caller.
  var commands: [Part] { parts.isEmpty ? [emptyPart] : parts }

  private var emptyPart: Part {
    var batch = UserBatch(users: [])
    batch.hash = hash
    batch.keepsExisting = keepsExisting
    return Part(batch: batch)
  }

  mutating func add(_ row: CallBody, at index: Int) {
    do throws(ProtocolError) {
      let user = try UserFields(imported: row)
      guard user.localID != nil else { throw .account("MISSING_LOCAL_ID") }
      let bytes: Int
      do throws(ContractProblem) { bytes = try user.text().reveal().utf8.count } catch { throw .bodyTooLarge }
      guard bytes <= Self.maxBytes else { throw .account("INVALID_USER", "The user is too large.") }
      add(user, bytes, at: index)
    } catch {
      refused.append(RefusedUser(index: index, message: error.message))
    }
  }

  private mutating func add(_ user: UserFields, _ bytes: Int, at index: Int) {
    let isFull = parts.last.map { $0.indices.count >= UserBatch.maxUsers || $0.bytes + bytes > Self.maxBytes } ?? true
    if isFull { parts.append(emptyPart) }
    parts[parts.count - 1].batch.users.append(user)
    parts[parts.count - 1].indices.append(index)
    parts[parts.count - 1].bytes += bytes
  }
}

extension HashParameters {
  /// Algorithm and parameters of an import. `nil` without an algorithm, for users without hashes.
  init?(_ body: CallBody) throws(ProtocolError) {
    guard let algorithm = try body.word("hashAlgorithm", else: "INVALID_HASH_ALGORITHM") else { return nil }
    self.init(hashAlgorithm: algorithm)
    signerKey = try body.secret("signerKey", else: "INVALID_HASH_SIGNER_KEY")
    saltSeparator = try body.word("saltSeparator", else: "INVALID_HASH_SALT_SEPARATOR")
    rounds = try body.integer("rounds")
    // Google's own tools name the cost of the standard scrypt so.
    memoryCost = try body.integer(body.has("cpuMemCost") ? "cpuMemCost" : "memoryCost")
    parallelization = try body.integer("parallelization")
    blockSize = try body.integer("blockSize")
    dkLen = try body.integer("dkLen")
    passwordHashOrder = try body.enumeration("passwordHashOrder", ProtocolEnumeration.passwordHashOrder)
    if let argon = try body.object("argon2Parameters") { argon2Parameters = try Argon2(argon) }
  }
}

extension HashParameters.Argon2 {
  init(_ body: CallBody) throws(ProtocolError) {
    self.init()
    hashLengthBytes = try body.integer("hashLengthBytes")
    hashType = try body.enumeration("hashType", ProtocolEnumeration.argon2Type)
    parallelism = try body.integer("parallelism")
    iterations = try body.integer("iterations")
    memoryCostKib = try body.integer("memoryCostKib")
    version = try body.enumeration("version", ProtocolEnumeration.argon2Version)
    associatedData = try body.secret("associatedData", else: "INVALID_HASH_PARAMETERS")
  }
}
