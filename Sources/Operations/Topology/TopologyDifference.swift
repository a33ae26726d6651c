/// One thing in which the broker differs from the declaration.
public struct TopologyDifference: Sendable, Hashable, CustomStringConvertible {
  /// What `topology apply` can do about it.
  public enum Remedy: Sendable, Hashable {
    case declareExchange(ExchangeDeclaration)
    case declareQueue(QueueDeclaration)
    case bind(BindingDeclaration)
    case setPolicy(PolicyDeclaration)
    /// A person has to decide: what is there cannot be changed without losing messages, or was put there by somebody.
    case byHand(String)
  }

  /// What is wrong, in a sentence.
  public let description: String
  public let remedy: Remedy

  public init(_ description: String, remedy: Remedy) {
    self.description = description
    self.remedy = remedy
  }

  /// Whether `topology apply` mends it.
  public var isMendable: Bool {
    if case .byHand = remedy { false } else { true }
  }

  /// What was done about it, in the past tense; `nil` when a person has to.
  var deed: String? {
    switch remedy {
    case .declareExchange(let exchange): "declared exchange \(exchange.name)"
    case .declareQueue(let queue): "declared queue \(queue.name)"
    case .bind(let binding): "bound queue \(binding.queue) to \(binding.exchange) under \"\(binding.routingKey)\""
    case .setPolicy(let policy): "set policy \(policy.name)"
    case .byHand: nil
    }
  }
}
