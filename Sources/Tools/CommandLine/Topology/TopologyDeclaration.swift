/// Exchanges, queues, bindings and policies of the broker, in the order in which to declare them.
public struct TopologyDeclaration: Sendable, Hashable {
  public let exchanges: [TopologyExchange]
  public let queues: [TopologyQueue]
  public let bindings: [TopologyBinding]
  public let policies: [PolicyDeclaration]

  public init(
    exchanges: [TopologyExchange], queues: [TopologyQueue], bindings: [TopologyBinding],
    policies: [PolicyDeclaration]
  ) {
    self.exchanges = exchanges
    self.queues = queues
    self.bindings = bindings
    self.policies = policies
  }
}

/// Durable exchange, never deleted by the broker on its own.
public struct TopologyExchange: Sendable, Hashable {
  /// Way of routing.
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

/// Durable queue. Its only argument is the type, which cannot be changed later; policies set everything else.
public struct TopologyQueue: Sendable, Hashable {
  /// Value of `x-queue-type`.
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

/// Binding of a queue to an exchange, without arguments.
public struct TopologyBinding: Sendable, Hashable {
  public let exchange: String
  public let queue: String
  public let routingKey: String

  public init(exchange: String, queue: String, routingKey: String) {
    self.exchange = exchange
    self.queue = queue
    self.routingKey = routingKey
  }
}
