public import CountersignTelemetry

/// A field that holds a secret (`code`, `secret`, a token), in the clear or sealed.
///
/// It is sealed when it has the form of a JWE compact serialisation. It does not print.
public struct SecretField: Sendable, Hashable {
  /// As it travels, sealed or not. For who writes bodies by hand; whoever wants the secret opens it.
  package let text: String

  /// A secret in the clear.
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
