import CountersignTelemetry

/// Failure to seal or open a secret. Safe to log and to send back.
public enum SealError: Error, Sendable, Hashable {
  /// The key that sealed it is not in the key ring.
  case unknownKey(String)
  /// It belongs to another message. The associated value names the header parameter that differs.
  case moved(String)
  /// It is damaged, forged, or sealed with another method.
  case broken
  /// The key ring has no key that seals.
  case noSealingKey
  /// It is in the clear, and only sealed secrets are accepted.
  case notSealed

  /// The same message with the same keys fails again.
  public var isRetriable: Bool { false }
}

extension SealError {
  /// Maximum bytes of a key ID, which comes with the message.
  private static let maxIDBytes = 64
}

extension SealError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownKey(let id):
      "is sealed with the key \"\(id.cut(toBytes: Self.maxIDBytes))\", which is not in the key ring"
    case .moved(let parameter): "was sealed for another message: its \(parameter) differs"
    case .broken: "cannot be opened: it is damaged, or not sealed with the method that is expected here"
    case .notSealed: "is in the clear, and only sealed secrets are accepted here (requireSealed)"
    case .noSealingKey: "cannot be sealed: the key ring has no key"
    }
  }
}
