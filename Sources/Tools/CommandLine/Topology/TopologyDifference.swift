/// One thing in which the broker differs from the declaration.
public struct TopologyDifference: Sendable, Hashable, CustomStringConvertible {
  /// What `topology apply` can do about it.
  public enum Remedy: Sendable, Hashable {
    case declareExchange(ExchangeDeclaration)
    case declareQueue(QueueDeclaration)
    case bind(BindingDeclaration)
    /// Takes a binding of an earlier version away; the broker tells it from others between the same two by its properties key.
    case unbind(BindingDeclaration, propertiesKey: String)
    case setPolicy(PolicyDeclaration)
    /// A user without a password, with all its rights.
    case addUser(UserDeclaration)
    case setPermissions(UserDeclaration)
    case setTopicRight(UserDeclaration, UserDeclaration.TopicRight)
    case setLimits(UserDeclaration)
    /// The bound of the virtual host on its queues.
    case setQueueLimit
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
    case .unbind(let binding, _):
      "unbound queue \(binding.queue) from \(binding.exchange) under \"\(binding.routingKey)\""
    case .setPolicy(let policy): "set policy \(policy.name)"
    case .addUser(let user):
      "added user \(user.name), which needs a password: rabbitmqctl change_password \(user.name) …"
    case .setPermissions(let user): "set the rights of user \(user.name)"
    case .setTopicRight(let user, let right): "set the routing keys of user \(user.name) on \(right.exchange)"
    case .setLimits(let user): "set the limits of user \(user.name)"
    case .setQueueLimit: "set the limit max-queues of the virtual host"
    case .byHand: nil
    }
  }
}
