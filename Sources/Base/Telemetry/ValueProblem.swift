/// Fault of an input value, in words that may be shown to its sender.
///
/// Decoders throw it as the underlying error of a `DecodingError`, whose own text may repeat the value and is never
/// shown.
public struct ValueProblem: Error, Sendable, Hashable, CustomStringConvertible {
  /// Goes on after the name of the field: `must be one of report, resend`. Never holds the value.
  public let description: String

  public init(_ description: String) {
    self.description = description
  }

  /// The error that a decoder throws for this problem.
  /// - Parameter path: where the value is, from the outermost key.
  public func decodingError(at path: [any CodingKey]) -> DecodingError {
    .dataCorrupted(DecodingError.Context(codingPath: path, debugDescription: description, underlyingError: self))
  }
}
