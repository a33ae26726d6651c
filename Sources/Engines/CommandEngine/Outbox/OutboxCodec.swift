import CountersignMessages
import CountersignTelemetry

/// The content of a row of the outbox: the fields of one message, as ``FieldWriter`` writes them.
enum OutboxCodec {
  private enum Tag {
    static let duty: UInt8 = 1
    static let exchange: UInt8 = 2
    static let routingKey: UInt8 = 3
    static let messageID: UInt8 = 4
    static let correlationID: UInt8 = 5
    static let causationID: UInt8 = 6
    static let traceparent: UInt8 = 7
    static let replyTo: UInt8 = 8
    static let timestamp: UInt8 = 9
    static let body: UInt8 = 10
  }

  static func encode(_ message: OutgoingMessage) -> [UInt8] {
    var writer = FieldWriter(capacity: message.body.count + 320)
    writer.put(Tag.duty, Int(message.duty.rawValue))
    writer.put(Tag.exchange, message.exchange)
    writer.put(Tag.routingKey, message.routingKey)
    writer.put(Tag.messageID, message.messageID)
    writer.put(Tag.correlationID, message.correlationID)
    writer.put(Tag.causationID, message.causationID)
    writer.put(Tag.traceparent, message.traceparent)
    writer.put(Tag.replyTo, message.replyTo)
    writer.put(Tag.timestamp, message.timestamp)
    writer.put(Tag.body, message.body)
    return writer.bytes
  }

  /// - Throws: ``StoreError/Code/content`` when the bytes are not those of ``encode(_:)``.
  static func decode(_ row: OutboxMessage) throws(StoreError) -> OutgoingMessage {
    let reader = try FieldReader(row.content)
    guard let duty = reader.number(Tag.duty).flatMap({ UInt8(exactly: $0) }).flatMap(OutgoingMessage.Duty.init)
    else { throw FieldReader.unreadable }
    let address = (
      try reader.required(reader.text(Tag.exchange)), try reader.required(reader.text(Tag.routingKey))
    )
    var message = OutgoingMessage(
      duty, to: address, type: MessageType(parsing: row.type) ?? MessageType(row.type),
      messageID: try reader.required(reader.text(Tag.messageID)), correlationID: reader.text(Tag.correlationID),
      cause: nil, at: try reader.required(reader.time(Tag.timestamp)),
      body: try reader.required(reader.block(Tag.body)))
    message.causationID = reader.text(Tag.causationID)
    message.traceparent = reader.text(Tag.traceparent)
    message.replyTo = reader.text(Tag.replyTo)
    message.discardAfter = row.discardAt
    return message
  }
}
