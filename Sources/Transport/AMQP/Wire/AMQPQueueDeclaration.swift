struct AMQPQueueDeclaration {
  var name: String
  var isPassive = false
  var isDurable = true
  var isExclusive = false
  var isAutoDeleted = false
  var arguments: [String: FieldValue] = [:]
}

/// State of a queue, as reported by the broker.
public struct DeclaredQueue: Sendable, Hashable {
  /// Queue name. Chosen by the broker if the declaration had none.
  public let name: String
  /// Number of ready messages, i.e. those not held by a consumer.
  public let messageCount: Int
  /// Number of consumers.
  public let consumerCount: Int
}
