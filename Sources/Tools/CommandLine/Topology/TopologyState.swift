/// Exchanges, queues, bindings and policies of one virtual host, from the management API.
struct TopologyState: Sendable {
  struct Exchange: Sendable, Decodable {
    let name: String
    let type: String
    let durable: Bool
  }

  struct Queue: Sendable, Decodable {
    let name: String
    let durable: Bool
    let type: String
    /// Policy that applies to the queue. Absent or empty if there is none.
    let policy: String?
    /// Arguments of the queue's declaration, which override policies.
    let arguments: Arguments
  }

  /// Keys of arguments, whose values are of any type, and the one value that matters.
  struct Arguments: Sendable, Decodable {
    let keys: [String]
    /// Value of `x-overflow`.
    let overflow: String?

    init(keys: [String], overflow: String? = nil) {
      self.keys = keys
      self.overflow = overflow
    }

    init(from decoder: any Decoder) throws {
      // No arguments are an empty array: Erlang does not distinguish it from an empty object.
      let container = try? decoder.container(keyedBy: AnyKey.self)
      keys = (container?.allKeys ?? []).map(\.stringValue).sorted()
      overflow = container.flatMap { try? $0.decode(String.self, forKey: AnyKey(stringValue: "x-overflow")) }
    }
  }

  struct Binding: Sendable, Decodable {
    let source: String
    let destination: String
    let destinationType: String
    let routingKey: String
    /// The broker's own name of the binding, among those between the same two.
    var propertiesKey: String?

    enum CodingKeys: String, CodingKey {
      case source, destination
      case propertiesKey = "properties_key"
      case destinationType = "destination_type"
      case routingKey = "routing_key"
    }
  }

  struct Policy: Sendable, Decodable {
    let name: String
    let pattern: String
    let priority: Int
    let definition: [String: PolicyDeclaration.Value]
    let applyTo: String

    enum CodingKeys: String, CodingKey {
      case name, pattern, priority, definition
      case applyTo = "apply-to"
    }
  }

  var exchanges: [Exchange] = []
  var queues: [Queue] = []
  var bindings: [Binding] = []
  var policies: [Policy] = []
}

/// Key of an object whose keys are not known beforehand.
private struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
