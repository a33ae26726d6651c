/// Failure of the coordinator itself, as opposed to an `APIError`, which is a caller's.
public struct CoordinationError: Error, Sendable, CustomStringConvertible {
  /// The kind of error.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String { case configuration }
    private let kind: Kind

    /// The configuration is wrong; the message says where and how to fix it.
    public static let configuration = Code(kind: .configuration)

    public var description: String { kind.rawValue }
  }

  public let code: Code
  /// Safe to log.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
