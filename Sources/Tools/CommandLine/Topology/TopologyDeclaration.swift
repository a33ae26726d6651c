/// All that the broker has to hold: exchanges, queues, bindings and policies, in the order in which to declare them.
public struct TopologyDeclaration: Sendable, Hashable {
  public let exchanges: [ExchangeDeclaration]
  public let queues: [QueueDeclaration]
  public let bindings: [BindingDeclaration]
  public let policies: [PolicyDeclaration]

  public init(
    exchanges: [ExchangeDeclaration], queues: [QueueDeclaration], bindings: [BindingDeclaration],
    policies: [PolicyDeclaration]
  ) {
    self.exchanges = exchanges
    self.queues = queues
    self.bindings = bindings
    self.policies = policies
  }
}
