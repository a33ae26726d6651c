/// Policy for the queues, or the exchanges, whose names match.
///
/// RabbitMQ applies one policy to each, the one with the highest priority, and never merges two.
public struct PolicyDeclaration: Sendable, Hashable {
  /// Value of one key of a policy.
  public enum Value: Sendable, Hashable {
    case integer(Int64)
    case text(String)
  }

  /// Kind of the objects that a policy is for.
  public enum Target: String, Sendable, Hashable, Codable {
    case queues, exchanges
  }

  /// Priority of the topology's policies. A site that needs other values defines its own policy with a higher priority,
  /// and `topology check` lists the queues it covers.
  public static let priority = 10

  public let name: String
  /// Regular expression over the names.
  public let pattern: String
  public let target: Target
  /// The highest priority of the policies that match a queue, and that its type supports, wins.
  public let priority: Int
  public let definition: [String: Value]

  public init(
    name: String, pattern: String, target: Target = .queues, priority: Int = Self.priority,
    definition: [String: Value]
  ) {
    self.name = name
    self.pattern = pattern
    self.target = target
    self.priority = priority
    self.definition = definition
  }
}

extension PolicyDeclaration.Value: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let integer = try? container.decode(Int64.self) {  // not an integer: then it has to be text
      self = .integer(integer)
    } else {
      self = .text(try container.decode(String.self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .integer(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    }
  }
}

extension PolicyDeclaration.Value: CustomStringConvertible, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(stringLiteral value: String) { self = .text(value) }

  public var description: String {
    switch self {
    case .integer(let value): String(value)
    case .text(let value): value
    }
  }
}
