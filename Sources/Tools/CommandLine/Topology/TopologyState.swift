/// What the broker holds of one virtual host, as its management API tells it.
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
    /// The policy that applies to the queue. The API says nothing, or an empty text, when none does.
    let policy: String?
    /// Keys of arguments that were given when the queue was declared, and go before what a policy says.
    let arguments: Arguments
  }

  /// Only the keys matter, but for one: values are of any type.
  struct Arguments: Sendable, Decodable {
    let keys: [String]
    /// Behavior of a full queue.
    let overflow: String?

    init(keys: [String], overflow: String? = nil) {
      self.keys = keys
      self.overflow = overflow
    }

    init(from decoder: any Decoder) throws {
      // A broker that has none writes an empty array, because Erlang cannot tell an empty object from it.
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
