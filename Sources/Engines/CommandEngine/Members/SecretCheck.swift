public import CountersignCryptography
import CountersignEncoding

/// Check value of a secret of this process: tells whether another process has the same secret, and nothing about it.
public struct SecretCheck: Sendable, Hashable {
  /// Key of the configuration that names the file: `keysFile`.
  public let file: String
  /// Name of the key in the file; empty for a pepper, which has none.
  public let id: String
  /// First 16 bytes of HMAC-SHA-256 under the secret itself.
  public let value: [UInt8]
  /// Whether the process makes something with it that other members have to open or compare.
  public let isUsed: Bool

  static let length = 16
  /// Message of the HMAC.
  public static let label = Array("countersign check value".utf8)

  /// - Parameters:
  ///   - file: key of the configuration.
  ///   - id: name of the key; empty for a pepper.
  ///   - code: HMAC-SHA-256 of ``label`` under the secret.
  ///   - isUsed: whether something is made with it.
  public init(file: String, id: String = "", code: [UInt8], isUsed: Bool) {
    self.file = file
    self.id = id
    value = Array(code.prefix(Self.length))
    self.isUsed = isUsed
  }

  /// Check values of keys of which the first makes and all open.
  public static func all(_ keys: KeyRing, file: String) -> [SecretCheck] {
    keys.opening.values.sorted { $0.id < $1.id }.map { key in
      SecretCheck(
        file: file, id: key.id, code: HMACSHA256.authenticate(label, key: key), isUsed: key.id == keys.sealing?.id)
    }
  }

  /// Check values of key pairs, of which others seal to the first one; of their public parts.
  public static func all(_ keys: PrivateSealingKeys, file: String) -> [SecretCheck] {
    keys.publicKeys.enumerated().map { index, key in
      SecretCheck(
        file: file, id: key.id, code: HMACSHA256.authenticate(label, key: Array(key.jwk.utf8)), isUsed: index == 0)
    }
  }
}

// MARK: - Storing

extension [SecretCheck] {
  /// A line each: file, whether it is used, value, name.
  var text: String {
    map { "\($0.file) \($0.isUsed ? "used" : "kept") \(Hexadecimal.encode($0.value)) \($0.id)" }.joined(separator: "\n")
  }

  /// Lines that another version wrote in another form are left out.
  init(text: String) {
    self = text.split(separator: "\n").compactMap { line in
      let parts = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
      guard parts.count == 4, let value = Hexadecimal.decode(String(parts[2])) else { return nil }
      return SecretCheck(file: String(parts[0]), id: String(parts[3]), code: value, isUsed: parts[1] == "used")
    }
  }
}
