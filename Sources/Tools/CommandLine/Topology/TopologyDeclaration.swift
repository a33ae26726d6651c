/// All that the broker has to hold: exchanges, queues, bindings and policies, in the order in which to declare them.
public struct TopologyDeclaration: Sendable, Hashable {
  public let exchanges: [ExchangeDeclaration]
  public let queues: [QueueDeclaration]
  public let bindings: [BindingDeclaration]
  public let policies: [PolicyDeclaration]
  /// Bindings that an earlier version declared, and that are taken away.
  public let formerBindings: [BindingDeclaration]

  public init(
    exchanges: [ExchangeDeclaration], queues: [QueueDeclaration], bindings: [BindingDeclaration],
    policies: [PolicyDeclaration], formerBindings: [BindingDeclaration] = []
  ) {
    self.exchanges = exchanges
    self.queues = queues
    self.bindings = bindings
    self.policies = policies
    self.formerBindings = formerBindings
  }
}
