extension DefinitionsDocument {
  /// The document, with the names of RabbitMQ's definitions format.
  struct Contents: Encodable {
    struct VirtualHost: Encodable {
      let name: String
    }

    struct User: Encodable {
      let name: String
      let passwordHash = ""
      let hashingAlgorithm = "rabbit_password_hashing_sha256"
      let tags: [String]
      let limits: [String: Int]

      enum CodingKeys: String, CodingKey {
        case name, tags, limits
        case passwordHash = "password_hash"
        case hashingAlgorithm = "hashing_algorithm"
      }
    }

    struct Permission: Encodable {
      let user, vhost, configure, write, read: String
    }

    struct TopicPermission: Encodable {
      let user, vhost, exchange, write, read: String
    }

    struct Exchange: Encodable {
      let name, vhost: String
      let type: TopologyExchange.Kind
      let durable = true
      let autoDelete = false
      let `internal` = false
      let arguments: [String: String] = [:]

      enum CodingKeys: String, CodingKey {
        case name, vhost, type, durable, `internal`, arguments
        case autoDelete = "auto_delete"
      }
    }

    struct Queue: Encodable {
      let name, vhost: String
      let durable = true
      let autoDelete = false
      let arguments: [String: String]

      enum CodingKeys: String, CodingKey {
        case name, vhost, durable, arguments
        case autoDelete = "auto_delete"
      }
    }

    struct Binding: Encodable {
      let source, vhost, destination: String
      let destinationType = "queue"
      let routingKey: String
      let arguments: [String: String] = [:]

      enum CodingKeys: String, CodingKey {
        case source, vhost, destination, arguments
        case destinationType = "destination_type"
        case routingKey = "routing_key"
      }
    }

    struct Policy: Encodable {
      let name, vhost, pattern: String
      let applyTo: PolicyDeclaration.Target
      let priority: Int
      let definition: [String: PolicyDeclaration.Value]

      enum CodingKeys: String, CodingKey {
        case name, vhost, pattern, priority, definition
        case applyTo = "apply-to"
      }
    }

    /// Limits of the virtual host, a parameter to RabbitMQ.
    struct Parameter: Encodable {
      let component = "vhost-limits"
      let name = "limits"
      let vhost: String
      let value: [String: Int]
    }

    let vhosts: [VirtualHost]
    let parameters: [Parameter]
    let users: [User]
    let permissions: [Permission]
    let topicPermissions: [TopicPermission]
    let exchanges: [Exchange]
    let queues: [Queue]
    let bindings: [Binding]
    let policies: [Policy]

    enum CodingKeys: String, CodingKey {
      case vhosts, parameters, users, permissions, exchanges, queues, bindings, policies
      case topicPermissions = "topic_permissions"
    }
  }
}

extension DefinitionsDocument.Contents.Exchange {
  init(_ exchange: TopologyExchange, virtualHost: String) {
    self.init(name: exchange.name, vhost: virtualHost, type: exchange.kind)
  }
}

extension DefinitionsDocument.Contents.Queue {
  init(_ queue: TopologyQueue, virtualHost: String) {
    self.init(name: queue.name, vhost: virtualHost, arguments: ["x-queue-type": queue.kind.rawValue])
  }
}

extension DefinitionsDocument.Contents.Binding {
  init(_ binding: TopologyBinding, virtualHost: String) {
    self.init(
      source: binding.exchange, vhost: virtualHost, destination: binding.queue, routingKey: binding.routingKey)
  }
}

extension DefinitionsDocument.Contents.Policy {
  init(_ policy: PolicyDeclaration, virtualHost: String) {
    self.init(
      name: policy.name, vhost: virtualHost, pattern: policy.pattern, applyTo: policy.target, priority: policy.priority,
      definition: policy.definition)
  }
}
