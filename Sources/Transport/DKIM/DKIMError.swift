/// Failure to sign a mail.
public struct DKIMError: Error, Sendable, CustomStringConvertible {
  /// The kinds of error. More may come.
  public struct Code: Sendable, Hashable {
    private enum Kind { case unavailable, badKey, failed }
    private let kind: Kind

    /// The library cannot be used as it is installed.
    public static let unavailable = Code(kind: .unavailable)
    /// The private key cannot sign mail.
    public static let badKey = Code(kind: .badKey)
    /// The signature could not be made.
    public static let failed = Code(kind: .failed)
  }

  public let code: Code
  /// One line, without any part of the key or the message.
  public let description: String

  init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
