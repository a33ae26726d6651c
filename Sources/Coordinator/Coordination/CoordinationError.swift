/// What the coordinator cannot do. What a caller did wrong is a ``CommandError``, not this.
public struct CoordinationError: Error, Sendable, CustomStringConvertible {
  /// The kind of error.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String { case configuration, storage, conflict, unavailable }
    private let kind: Kind

    /// The configuration is wrong; the message says where and how to mend it.
    public static let configuration = Code(kind: .configuration)
    /// The database holds something that cannot be read.
    public static let storage = Code(kind: .storage)
    /// Another process changed the same verification; doing it again helps.
    public static let conflict = Code(kind: .conflict)
    /// Something this needs is not there now.
    public static let unavailable = Code(kind: .unavailable)

    public var description: String { kind.rawValue }
  }

  public let code: Code
  /// Safe to log.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Whether doing the same again can help.
  public var isRetriable: Bool { code == .conflict || code == .unavailable }

  public var description: String { message }
}
