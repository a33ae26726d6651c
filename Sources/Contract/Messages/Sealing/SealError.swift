import CountersignTelemetry

/// Why a secret cannot be sealed or opened. Safe to log and to send back.
public enum SealError: Error, Sendable, Hashable {
  /// It was sealed with a key that is not in the key ring.
  case unknownKey(String)
  /// It belongs to another message: the name of the header parameter that differs.
  case moved(String)
  /// It is damaged, forged, or sealed in another way than this system does.
  case broken
  /// There is no key to seal with.
  case noSealingKey
  /// It is in the clear, and only sealed secrets are taken.
  case notSealed

  /// Only a key that has yet to arrive can mend this; the same message with the same keys fails again.
  public var isRetriable: Bool { false }
}

extension SealError {
  /// Of an ID of a key, which comes with the message.
  private static let maxIDBytes = 64
}

extension SealError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownKey(let id):
      "is sealed with the key \"\(id.cut(toBytes: Self.maxIDBytes))\", which is not in the key ring"
    case .moved(let parameter): "was sealed for another message: its \(parameter) differs"
    case .broken: "cannot be opened: it is damaged, or not sealed with dir and A256GCM"
    case .notSealed: "is in the clear, and only sealed secrets are taken here (requireSealed)"
    case .noSealingKey: "cannot be sealed: the key ring has no key"
    }
  }
}
