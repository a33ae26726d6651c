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
}
