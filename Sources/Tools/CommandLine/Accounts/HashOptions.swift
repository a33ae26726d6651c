import CountersignEncoding
import CountersignMessages
import ServiceRuntime

/// Algorithm and parameters of the hashes of a file, by the options of Firebase's `auth:import`.
struct HashOptions: CommandOptions {
  /// Hashes as `account export` writes them into JSON: each names its algorithm.
  static let own = HashParameters(hashAlgorithm: "COUNTERSIGN")

  private let algorithm, key, saltSeparator, order, argon2: String?
  private let rounds, memoryCost, parallelization, blockSize, length: Int?

  init(_ reader: OptionReader) {
    algorithm = reader.text(
      "hash-algo", "NAME",
      "Algorithm of the hashes: SCRYPT (Firebase's), BCRYPT, PBKDF2_SHA256, … Those of 'account export' name theirs.")
    key = reader.text(
      "hash-key", "BASE64",
      "Key of SCRYPT and HMAC_…; - reads it from standard input, which the process list does not show.")
    saltSeparator = reader.text("salt-separator", "BASE64", "Separator of SCRYPT.")
    let numbers = 0...Int(Int32.max)
    rounds = reader.integer("rounds", "COUNT", in: numbers, "Rounds of SCRYPT, SHA…, MD5 and PBKDF….")
    memoryCost = reader.integer(
      "mem-cost", "COST", in: numbers, "Memory of SCRYPT, as a power of two, or STANDARD_SCRYPT.")
    parallelization = reader.integer("parallelization", "COUNT", in: numbers, "Parallelization of STANDARD_SCRYPT.")
    blockSize = reader.integer("block-size", "COUNT", in: numbers, "Block size of STANDARD_SCRYPT.")
    length = reader.integer("dk-len", "BYTES", in: numbers, "Length of the hashes of STANDARD_SCRYPT.")
    order = reader.text(
      "hash-input-order", "ORDER", "SALT_FIRST or PASSWORD_FIRST, for MD5, SHA… and HMAC_….")
    argon2 = reader.text(
      "argon2", "JSON", "Parameters of ARGON2, argon2Parameters of Google's accounts:batchCreate.")
    if algorithm == nil, [key, saltSeparator, order, argon2].contains(where: { $0 != nil }) || rounds != nil {
      reader.fail("--hash-algo is missing: the other options are about it")
    }
  }

  /// `nil` where none are given.
  func parameters(_ context: CommandContext) throws(CommandLineError) -> HashParameters? {
    guard let algorithm else { return nil }
    var parameters = HashParameters(hashAlgorithm: algorithm.uppercased())
    parameters.signerKey =
      key == "-" ? String(decoding: try context.input(), as: UTF8.self).filter { !$0.isWhitespace } : key
    parameters.saltSeparator = saltSeparator
    parameters.rounds = rounds
    parameters.memoryCost = memoryCost
    parameters.parallelization = parallelization
    parameters.blockSize = blockSize
    parameters.dkLen = length
    parameters.passwordHashOrder = try order.map(Self.order)
    parameters.argon2Parameters = try argon2.map(Self.argon2)
    return parameters
  }

  private static func order(_ text: String) throws(CommandLineError) -> String {
    switch text.uppercased() {
    case "SALT_FIRST": return "SALT_AND_PASSWORD"
    case "PASSWORD_FIRST": return "PASSWORD_AND_SALT"
    default: throw CommandLineError(.usage, "--hash-input-order must be SALT_FIRST or PASSWORD_FIRST")
    }
  }

  private static func argon2(_ text: String) throws(CommandLineError) -> HashParameters.Argon2 {
    do {
      return try JSONReader(maxBytes: InputFile.maxBytes).decode(HashParameters.Argon2.self, from: Array(text.utf8))
    } catch {
      throw CommandLineError(.badInput, "--argon2 must be a JSON object as argon2Parameters of accounts:batchCreate")
    }
  }
}
