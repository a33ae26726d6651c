/// An exchange of the topology: durable, never deleted by the broker on its own.
public struct ExchangeDeclaration: Sendable, Hashable {
  /// How an exchange routes.
  public enum Kind: String, Sendable, Hashable, Codable {
    case direct, topic, fanout
  }

  public let name: String
  public let kind: Kind

  public init(name: String, kind: Kind) {
    self.name = name
    self.kind = kind
  }
}
