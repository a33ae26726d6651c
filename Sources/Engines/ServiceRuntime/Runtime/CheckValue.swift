public import CountersignCryptography
import CountersignEncoding

/// Check value of a secret of this process: tells whether another process has the same secret, and nothing about it.
public struct CheckValue: Codable, Sendable, Hashable {
  /// Key of the configuration that names the file: `keysFile`.
  public let file: String
  /// Name of the key in the file. Empty for a pepper, and for a file that counts as a whole.
  public let id: String
  /// First 16 bytes of HMAC-SHA-256 under the secret itself, in hexadecimal.
  public let value: String
  /// Whether the process makes something with it that others have to open or compare.
  public let isUsed: Bool

  private static let length = 16
  /// Message of the HMAC.
  public static let label = Array("countersign check value".utf8)

  /// - Parameters:
  ///   - file: key of the configuration.
  ///   - id: name of the key; empty for a pepper, and for a file that counts as a whole.
  ///   - code: HMAC-SHA-256 of ``label`` under the secret.
  ///   - isUsed: whether something is made with it.
  public init(file: String, id: String = "", code: [UInt8], isUsed: Bool) {
    (self.file, self.id, self.isUsed) = (file, id, isUsed)
    value = Hexadecimal.encode(Array(code.prefix(Self.length)))
  }

  /// Check values of keys of which the first makes and all open.
  public static func all(_ keys: KeyRing, file: String) -> [CheckValue] {
    keys.opening.values.sorted { $0.id < $1.id }.map { key in
      CheckValue(
        file: file, id: key.id, code: HMACSHA256.authenticate(label, key: key), isUsed: key.id == keys.sealing?.id)
    }
  }

  /// Check value of a whole file.
  /// - Parameters:
  ///   - content: its bytes: a secret that cannot be guessed, or nothing that is secret.
  ///   - file: key of the configuration.
  public static func content(_ content: [UInt8], file: String) -> CheckValue {
    CheckValue(file: file, code: HMACSHA256.authenticate(label, key: Array(SHA256.hash(content))), isUsed: true)
  }

  /// Check values of public keys, of which the first one seals.
  public static func all(_ keys: [PublicSealingKey], file: String) -> [CheckValue] {
    keys.enumerated().map { index, key in
      CheckValue(
        file: file, id: key.id, code: HMACSHA256.authenticate(label, key: Array(key.jwk.utf8)), isUsed: index == 0)
    }
  }
}
