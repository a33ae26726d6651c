/// A durable queue. The type is the only thing that cannot be changed later, so it is the only argument; all else is a
/// policy.
public struct QueueDeclaration: Sendable, Hashable {
  /// The value of `x-queue-type`.
  public enum Kind: String, Sendable, Hashable, Codable {
    case quorum, classic, stream
  }

  public let name: String
  public let kind: Kind

  public init(name: String, kind: Kind = .quorum) {
    self.name = name
    self.kind = kind
  }
}
