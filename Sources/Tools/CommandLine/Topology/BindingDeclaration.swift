/// A binding of a queue to an exchange, without arguments.
public struct BindingDeclaration: Sendable, Hashable {
  public let exchange: String
  public let queue: String
  public let routingKey: String

  public init(exchange: String, queue: String, routingKey: String) {
    self.exchange = exchange
    self.queue = queue
    self.routingKey = routingKey
  }
}
