public import CountersignAMQP
import CountersignCryptography

/// Identity of a message across redeliveries: a hash of its queue, its properties and its body.
///
/// Values that the broker itself counts or notes are excluded, because they differ from delivery to delivery.
public struct MessageKey: Sendable, Hashable {
  let bytes: [UInt8]

  /// Headers of the broker: RabbitMQ's quorum queues count deliveries in the first two. Dead-lettering writes the
  /// others.
  private static let brokerHeaders: Set<String> = ["x-delivery-count", "x-acquired-count", "x-death"]
  private static let brokerPrefixes = ["x-first-death-", "x-last-death-"]

  /// Decodes nothing: the properties that AMQP has already read are written again, in a fixed order.
  public init(_ delivery: Delivery, queue: String) {
    let message = delivery.message
    var text = KeyText()
    text.put(queue)
    let strings = [
      message.contentType, message.contentEncoding, message.correlationID, message.replyTo, message.expiration,
      message.messageID, message.type, message.userID, message.appID,
    ]
    for string in strings { text.put(string) }
    text.put(message.isPersistent ? 1 : 0)
    text.put(message.priority.map(UInt64.init))
    text.put(message.timestamp)
    text.put(message.headers.filter { !Self.isOfBroker($0.key) })
    // An oversize body that was not kept is represented by its length.
    text.put(delivery.bodyBytes)
    text.put(message.body)
    bytes = SHA256.hash(text.bytes)
  }

  private static func isOfBroker(_ header: String) -> Bool {
    brokerHeaders.contains(header) || brokerPrefixes.contains { header.hasPrefix($0) }
  }
}

/// Writes values unambiguously: each with its kind and its length.
private struct KeyText {
  private(set) var bytes: [UInt8] = []

  mutating func put(_ text: String?) {
    guard let text else { return bytes.append(0) }
    put(1, Array(text.utf8))
  }

  mutating func put(_ number: UInt64?) {
    guard let number else { return bytes.append(0) }
    bytes.append(2)
    append(number)
  }

  mutating func put(_ content: [UInt8]) { put(3, content) }

  mutating func put(_ table: [String: FieldValue]) {
    bytes.append(4)
    append(UInt64(table.count))
    for (name, value) in table.sorted(by: { $0.key < $1.key }) {
      put(name)
      put(value)
    }
  }

  /// As deep as AMQP reads tables, which is bounded.
  private mutating func put(_ value: FieldValue) {
    switch value {
    case .bool(let flag): put(flag ? 1 : 0)
    case .int(let number): put(UInt64(bitPattern: number))
    case .double(let number): put(5, withUnsafeBytes(of: number.bitPattern.bigEndian, Array.init))
    case .string(let text): put(text)
    case .bytes(let content): put(content)
    case .timestamp(let seconds): put(seconds)
    case .array(let values):
      bytes.append(6)
      append(UInt64(values.count))
      for value in values { put(value) }
    case .table(let table): put(table)
    case .null: bytes.append(0)
    }
  }

  private mutating func put(_ kind: UInt8, _ content: [UInt8]) {
    bytes.append(kind)
    append(UInt64(content.count))
    bytes += content
  }

  private mutating func append(_ number: UInt64) {
    withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
  }
}
