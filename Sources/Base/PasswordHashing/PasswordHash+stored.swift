internal import CountersignEncoding

extension PasswordHash {
  /// The hash as one text, for the database: name of the algorithm, parameters, salt and hash, between colons.
  public var stored: String {
    let fields = algorithm.method.fields
    let parameters = fields.pairs.compactMap { name, value in value.map { "\(name)=\($0)" } }
    return [
      fields.hashAlgorithm, parameters.joined(separator: ","), Base64URL.encode(salt), Base64URL.encode(hash),
    ].joined(separator: ":")
  }

  /// - Parameter stored: what ``stored`` gave. `nil` for anything else.
  public init?(stored: String) {
    guard stored.utf8.count <= Self.longest else { return nil }
    let parts = stored.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, let fields = ImportAlgorithm.Fields(parts[0], pairs: parts[1]),
      let salt = Base64URL.decode(parts[2]), let hash = Base64URL.decode(parts[3])
    else { return nil }
    do throws(PasswordHashingError) {
      self = try ImportAlgorithm(fields).hash(hash, salt: salt)
    } catch {
      return nil
    }
  }
}

extension ImportAlgorithm.Fields {
  /// Parameters by their letters. Letters do not change their meaning.
  fileprivate var pairs: [(String, String?)] {
    let numbers = [
      ("r", rounds), ("m", memoryCost), ("p", parallelization), ("b", blockSize), ("d", dkLen),
      ("M", argon2Parameters?.memoryCostKib), ("I", argon2Parameters?.iterations), ("P", argon2Parameters?.parallelism),
      ("L", argon2Parameters?.hashLengthBytes),
    ]
    return [
      ("k", signerKey), ("s", saltSeparator), ("o", passwordHashOrder), ("T", argon2Parameters?.hashType),
      ("V", argon2Parameters?.version), ("A", argon2Parameters?.associatedData),
    ] + numbers.map { ($0, $1.map(String.init)) }
  }

  fileprivate init?(_ hashAlgorithm: String, pairs text: String) {
    self.init(hashAlgorithm)
    var pairs: [String: String] = [:]
    for pair in text.split(separator: ",") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, pairs.updateValue(parts[1], forKey: parts[0]) == nil else { return nil }
    }
    (signerKey, saltSeparator, passwordHashOrder) = (pairs["k"], pairs["s"], pairs["o"])
    (rounds, memoryCost) = (pairs["r"].flatMap { Int($0) }, pairs["m"].flatMap { Int($0) })
    (parallelization, blockSize) = (pairs["p"].flatMap { Int($0) }, pairs["b"].flatMap { Int($0) })
    dkLen = pairs["d"].flatMap { Int($0) }
    guard let variant = pairs["T"] else { return }
    var argon2 = ImportAlgorithm.Argon2Fields()
    (argon2.hashType, argon2.version, argon2.associatedData) = (variant, pairs["V"], pairs["A"])
    (argon2.memoryCostKib, argon2.iterations) = (pairs["M"].flatMap { Int($0) }, pairs["I"].flatMap { Int($0) })
    (argon2.parallelism, argon2.hashLengthBytes) = (pairs["P"].flatMap { Int($0) }, pairs["L"].flatMap { Int($0) })
    argon2Parameters = argon2
  }
}
