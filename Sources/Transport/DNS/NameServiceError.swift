/// Failure of a lookup. A missing record is not a failure.
public struct NameServiceError: Error, Sendable, CustomStringConvertible {
  /// One line.
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}
