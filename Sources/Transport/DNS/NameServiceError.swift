/// Why a name could not be looked up. That it has no such record is no error.
public struct NameServiceError: Error, Sendable, CustomStringConvertible {
  /// One line.
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}
