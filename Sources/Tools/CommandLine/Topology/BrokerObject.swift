import CountersignEncoding

/// With the names of RabbitMQ's definitions and of its management API.
struct BrokerObject: Sendable, Hashable {
  /// The raw value is its resource in the management API.
  enum Kind: String, Sendable {
    case policies, exchanges, queues, bindings, permissions
    case topicPermissions = "topic-permissions"

    /// Members that tell the objects of a kind apart.
    var identity: [String] {
      switch self {
      case .policies, .exchanges, .queues: ["name"]
      case .bindings: ["source", "destination", "destination_type", "routing_key"]
      case .permissions: ["user"]
      case .topicPermissions: ["user", "exchange"]
      }
    }
  }

  let kind: Kind
  /// All but the virtual host.
  let members: [String: JSONValue]

  subscript(_ member: String) -> String { members[member]?.text ?? "" }

  var name: String { self["name"] }
  var definition: [String: JSONValue] { members["definition"]?.members ?? [:] }
  var arguments: [String: JSONValue] { members["arguments"]?.members ?? [:] }

  func isSame(as other: BrokerObject) -> Bool {
    kind == other.kind && kind.identity.allSatisfy { self[$0] == other[$0] }
  }

  // MARK: - Declarations

  static func exchange(_ name: String, _ type: String) -> BrokerObject {
    BrokerObject(
      kind: .exchanges,
      members: [
        "name": .text(name), "type": .text(type), "durable": true, "auto_delete": false, "internal": false,
        "arguments": [:],
      ])
  }

  /// Its arguments are its type and its kind of consumers alone, because they cannot be changed later, nor set by a
  /// policy. Policies set the rest.
  /// - Parameter isSerial: whether one consumer at a time gets messages, so that several keep their order.
  static func queue(_ name: String, _ type: String = "quorum", isSerial: Bool = false) -> BrokerObject {
    var arguments: [String: JSONValue] = ["x-queue-type": .text(type)]
    if isSerial { arguments["x-single-active-consumer"] = true }
    return BrokerObject(
      kind: .queues,
      members: [
        "name": .text(name), "durable": true, "auto_delete": false, "arguments": .object(arguments),
      ])
  }

  static func binding(of queue: String, to exchange: String, under key: String) -> BrokerObject {
    BrokerObject(
      kind: .bindings,
      members: [
        "source": .text(exchange), "destination": .text(queue), "destination_type": "queue", "routing_key": .text(key),
        "arguments": [:],
      ])
  }
}

extension BrokerObject {
  /// Members that mean the same are written as in the declarations.
  init(_ kind: Kind, told row: [String: JSONValue]) {
    var members = row
    switch kind {
    case .policies where row["apply-to"] == "quorum_queues": members["apply-to"] = "queues"
    case .queues:
      // A queue may have got its type by default.
      var arguments = row["arguments"]?.members ?? [:]
      arguments["x-queue-type"] = row["type"]
      members["arguments"] = .object(arguments)
    case .permissions:
      for right in ["configure", "write", "read"] where row[right] == "" { members[right] = .text(NamePattern.nothing) }
    case .policies, .exchanges, .bindings, .topicPermissions: break
    }
    self.init(kind: kind, members: members)
  }
}

extension [BrokerObject] {
  func all(_ kind: BrokerObject.Kind) -> [BrokerObject] { filter { $0.kind == kind } }
}
