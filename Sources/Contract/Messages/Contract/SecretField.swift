public import CountersignTelemetry

/// Field that holds a secret (`code`, `secret`, a token), in the clear or sealed.
///
/// It is sealed if it has the form of a JWE compact serialization. It does not print.
public struct SecretField: Sendable, Hashable {
  /// Text of the field, sealed or not, for writers of bodies. The secret itself is opened with keys.
  package let text: String

  /// Creates a field with a secret in the clear.
  public init(_ secret: Secret) {
    text = secret.reveal()
  }

  init(text: String) {
    self.text = text
  }
}

extension SecretField: Codable {
  public init(from decoder: any Decoder) throws {
    text = try decoder.singleValueContainer().decode(String.self)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

extension SecretField: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { Redaction.placeholder }
  public var debugDescription: String { Redaction.placeholder }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
