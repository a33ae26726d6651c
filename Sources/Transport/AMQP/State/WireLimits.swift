/// Limits of the wire format, checked before a message is sent: one that fails half-way ruins its channel.
enum WireLimits {
  /// A short string has a length of one byte (AMQP 0-9-1, section 4.2.5.3).
  static let maxShortStringBytes = 255
  /// All properties must fit into one frame, which is at least this long (RabbitMQ's default is 131,072 bytes).
  static let maxHeaderBytes = 64 << 10
  /// Maximum nesting of arrays and tables that is sent. When read, deeper values become `null`.
  static let maxDepth = 16

  static func encodedBytes(_ table: [String: FieldValue]) -> Int? {
    for name in table.keys where name.utf8.count > maxShortStringBytes { return nil }
    return encodedBytes(.table(table), depth: 0)
  }

  static func check(_ publication: Publication, maxBodyBytes: Int) throws(AMQPError) {
    try check(publication.exchange, "the exchange name")
    try check(publication.routingKey, "the routing key")
    try check(publication.message, maxBodyBytes: maxBodyBytes)
  }

  static func check(_ text: String?, _ name: String) throws(AMQPError) {
    guard let text, text.utf8.count > maxShortStringBytes else { return }
    throw AMQPError(.tooLarge, "\(name) is longer than \(maxShortStringBytes) bytes")
  }

  private static func check(_ message: Message, maxBodyBytes: Int) throws(AMQPError) {
    guard message.body.count <= maxBodyBytes else {
      throw AMQPError(.tooLarge, "the body has \(message.body.count) bytes, the limit is \(maxBodyBytes)")
    }
    try check(message.contentType, "the content type")
    try check(message.contentEncoding, "the content encoding")
    try check(message.correlationID, "the correlation ID")
    try check(message.replyTo, "the reply address")
    try check(message.expiration, "the expiration")
    try check(message.messageID, "the message ID")
    try check(message.type, "the type")
    try check(message.userID, "the user ID")
    try check(message.appID, "the application ID")
    try check(table: message.headers)
  }

  static func check(table: [String: FieldValue]) throws(AMQPError) {
    guard !table.isEmpty else { return }
    for name in table.keys { try check(name, "a header name") }
    guard let size = encodedBytes(.table(table), depth: 0) else {
      throw AMQPError(.tooLarge, "the headers are nested deeper than \(maxDepth)")
    }
    guard size <= maxHeaderBytes else {
      throw AMQPError(.tooLarge, "the headers take \(size) bytes, the limit is \(maxHeaderBytes)")
    }
  }

  private static func encodedBytes(_ value: FieldValue, depth: Int) -> Int? {
    guard depth < maxDepth else { return nil }
    switch value {
    case .null: return 1
    case .bool: return 2
    case .int, .double, .timestamp: return 9
    case .string(let text): return 5 + text.utf8.count
    case .bytes(let bytes): return 5 + bytes.count
    case .array(let values):
      var size = 5
      for value in values {
        guard let part = encodedBytes(value, depth: depth + 1) else { return nil }
        size += part
      }
      return size
    case .table(let fields):
      var size = 5
      for (name, value) in fields {
        guard name.utf8.count <= maxShortStringBytes, let part = encodedBytes(value, depth: depth + 1) else {
          return nil
        }
        size += 1 + name.utf8.count + part
      }
      return size
    }
  }
}
