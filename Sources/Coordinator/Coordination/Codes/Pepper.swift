import CountersignCryptography

/// The secret for making and comparing codes. It is not in the database.
public struct Pepper: Sendable, CustomStringConvertible, CustomReflectable {
  /// The shortest pepper that is accepted.
  public static let minimumLength = 16
  static let idLength = 4

  /// Distinguishes peppers without revealing anything else.
  public let id: [UInt8]
  let key: HMACSHA256Key

  /// - Parameter bytes: at least ``minimumLength`` random bytes.
  public init(_ bytes: [UInt8]) throws(CoordinationError) {
    guard bytes.count >= Self.minimumLength else {
      throw CoordinationError(
        .configuration,
        "the pepper has \(bytes.count) bytes and needs \(Self.minimumLength) or more: make one with 'openssl rand -base64 32'"
      )
    }
    key = HMACSHA256Key(bytes)
    id = Array(SHA256.hash(Array("countersign pepper id\0".utf8) + bytes)[..<Self.idLength])
  }

  public var description: String { "Pepper(<redacted>)" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
