/// Failure with a key or a sealed text. Its description is safe to log: it names keys, never their bytes nor the sealed
/// text.
public struct JOSEError: Error, Sendable, CustomStringConvertible {
  /// The kind of a failure. More may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String {
      case unknownKey, malformed, unsupportedAlgorithm, authenticationFailed, badKey, tooLarge, unavailable
    }

    private let kind: Kind

    /// No key of the ring has the sealed text's `kid`: ``JOSEError/keyID``.
    public static let unknownKey = Code(kind: .unknownKey)
    /// The text is not what its format says.
    public static let malformed = Code(kind: .malformed)
    /// The header asks for an algorithm, a compression or an extension that is not taken here.
    public static let unsupportedAlgorithm = Code(kind: .unsupportedAlgorithm)
    /// The text was changed, or sealed with another key of the same name.
    public static let authenticationFailed = Code(kind: .authenticationFailed)
    /// A key, or a set of keys, cannot be used.
    public static let badKey = Code(kind: .badKey)
    /// The text is larger than the limit.
    public static let tooLarge = Code(kind: .tooLarge)
    /// OpenSSL cannot do its work: no memory, or no provider of the algorithm.
    public static let unavailable = Code(kind: .unavailable)

    public var description: String { kind.rawValue }
  }

  /// The kind of the failure.
  public let code: Code
  /// Description of the failure.
  public let message: String
  /// The key that is meant, as the sealed text or the set names it.
  public let keyID: String?

  init(_ code: Code, _ message: String, keyID: String? = nil) {
    self.code = code
    self.message = message
    self.keyID = keyID
  }

  /// Whether the same call may succeed later. A key that is unknown here may be known after the next rotation, but that
  /// takes a new ring: it is not for the same call.
  public var isRetriable: Bool { code == .unavailable }

  public var description: String { "\(message) (\(code))" }
}

extension JOSEError {
  private static let longestName = 64

  /// A name that came from outside, fit for a log line.
  static func printable(_ name: String) -> String {
    let kept = name.unicodeScalars.prefix(longestName).map { scalar -> Character in
      (0x21...0x7E).contains(scalar.value) && scalar != "\"" ? Character(scalar) : "?"
    }
    return String(kept)
  }
}
