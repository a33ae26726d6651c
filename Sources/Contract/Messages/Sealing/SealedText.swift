public import CountersignTelemetry

/// JSON object that travels as the text of a sealed field. It does not print.
public protocol SealedText: Codable, Sendable, CustomStringConvertible, CustomReflectable {}

extension SealedText {
  /// Reads an opened text. Unknown fields are ignored.
  /// - Throws: the problem and its field, never the value.
  public init(text: Secret) throws(ContractProblem) {
    self = try ContractJSON.decode(Self.self, from: Array(text.reveal().utf8))
  }

  /// The text to seal, at most ``MessageLimits/maxBodyBytes`` long.
  /// - Throws: ``ContractProblem/Code-swift.struct/bodyTooLarge``.
  public func text() throws(ContractProblem) -> Secret {
    Secret(String(decoding: try ContractJSON.encode(self), as: UTF8.self))
  }

  public var description: String { Redaction.placeholder }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
