/// One difference of the broker from the declaration.
public struct TopologyDifference: Sendable, Hashable, CustomStringConvertible {
  /// Way in which `topology apply` fixes a difference.
  public enum Remedy: Sendable, Hashable {
    case declareExchange(TopologyExchange)
    case declareQueue(TopologyQueue)
    case bind(TopologyBinding)
    case setPolicy(PolicyDeclaration)
    /// Adds a user without a password, with all its rights.
    case addUser(UserDeclaration)
    case setPermissions(UserDeclaration)
    case setTopicRight(UserDeclaration, UserDeclaration.TopicRight)
    case setLimits(UserDeclaration)
    /// Limits the queues of the virtual host.
    case setQueueLimit
    /// A person has to decide: a change would lose messages, or undo another person's work.
    case byHand(String)
  }

  /// The problem, in a sentence.
  public let description: String
  public let remedy: Remedy

  public init(_ description: String, remedy: Remedy) {
    self.description = description
    self.remedy = remedy
  }

  /// Whether `topology apply` fixes it.
  public var isFixable: Bool {
    if case .byHand = remedy { false } else { true }
  }

  /// The fix in the past tense. `nil` if a person has to decide.
  var deed: String? {
    switch remedy {
    case .declareExchange(let exchange): "declared exchange \(exchange.name)"
    case .declareQueue(let queue): "declared queue \(queue.name)"
    case .bind(let binding): "bound queue \(binding.queue) to \(binding.exchange) under \"\(binding.routingKey)\""
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

/// Result of a comparison of the broker with the declaration.
struct TopologyReport: Sendable, Equatable {
  var differences: [TopologyDifference]
  /// Permitted state that is worth knowing.
  var notes: [String] = []
  /// Reason why the users were not compared. `nil` if they were, or if the caller left them out.
  var unchecked: String?

  /// Reason for a user that is not an administrator: the tags `monitoring` and `policymaker` are not enough.
  static let needsAdministrator =
    "users, rights and limits were not compared, because RabbitMQ shows them to administrators only; an administrator runs: countersign --management https://ADMINISTRATOR@HOST:15671 topology check"
}
