/// What is declared of a queue.
struct QueueDeclaration {
  var name: String
  var isPassive = false
  var isDurable = true
  var isExclusive = false
  var isAutoDeleted = false
  var arguments: [String: FieldValue] = [:]
}

/// What the broker says of a queue.
public struct DeclaredQueue: Sendable, Hashable {
  /// Its name, which the broker makes up when the declaration had none.
  public let name: String
  /// Messages that are ready, i.e. not with a consumer.
  public let messageCount: Int
  /// Consumers of the queue.
  public let consumerCount: Int
}
