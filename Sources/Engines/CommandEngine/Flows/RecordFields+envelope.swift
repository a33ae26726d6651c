public import CountersignMessages
import CountersignTelemetry

/// The envelope of a command that waits, inside the body of a record: what its answer needs.
private enum Tag {
  static let type: UInt8 = 1
  static let messageID: UInt8 = 2
  static let correlationID: UInt8 = 3
  static let replyTo: UInt8 = 4
  static let userID: UInt8 = 5
  static let traceparent: UInt8 = 6
}

extension FieldWriter {
  /// Adds the envelope of a waiting command, unless it is absent: its type and ID, its sender, and the address, trace
  /// and correlation of its reply.
  public mutating func put(_ tag: UInt8, _ envelope: Envelope?) {
    guard let envelope else { return }
    var fields = FieldWriter(capacity: 192)
    fields.put(Tag.type, envelope.type.text)
    fields.put(Tag.messageID, envelope.messageID)
    fields.put(Tag.correlationID, envelope.correlationID)
    fields.put(Tag.replyTo, envelope.replyTo)
    fields.put(Tag.userID, envelope.userID)
    fields.put(Tag.traceparent, envelope.trace?.traceparent)
    put(tag, fields.bytes)
  }
}

extension FieldReader {
  /// The envelope of a waiting command, if it is there.
  /// - Throws: ``StoreError/Code/content`` when it cannot be read.
  public func envelope(_ tag: UInt8) throws(StoreError) -> Envelope? {
    guard let block = block(tag) else { return nil }
    let fields = try FieldReader(block)
    return Envelope(
      type: try required(fields.text(Tag.type).flatMap(MessageType.init(parsing:))),
      messageID: try required(fields.text(Tag.messageID)), correlationID: fields.text(Tag.correlationID),
      replyTo: fields.text(Tag.replyTo), userID: fields.text(Tag.userID),
      trace: fields.text(Tag.traceparent).flatMap(TraceContext.init(traceparent:)))
  }
}
