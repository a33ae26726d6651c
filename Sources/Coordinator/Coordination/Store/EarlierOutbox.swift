import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Reads the messages of a row of the tables `outbox` and `held_job`, which versions before the command engine wrote.
///
/// A row holds the messages of one transaction: a version, then each message as its fields, strings after their length.
enum EarlierOutbox {
  private static let version: UInt8 = 1

  /// - Throws: ``StoreError/Code/content`` when the bytes are damaged, or of another version.
  static func messages(_ bytes: [UInt8]) throws(StoreError) -> [OutgoingMessage] {
    guard bytes.first == version else { throw unreadable }
    var reader = Reader(bytes: bytes[1...])
    var messages: [OutgoingMessage] = []
    while !reader.bytes.isEmpty {
      guard let message = message(&reader) else { throw unreadable }
      messages.append(message)
    }
    return messages
  }

  private static let unreadable = StoreError(
    .content,
    "messages of an earlier row cannot be read: they are damaged, or another version of the program wrote them")

  private static func message(_ reader: inout Reader) -> OutgoingMessage? {
    guard let duty = reader.bytes.popFirst().flatMap(OutgoingMessage.Duty.init(rawValue:)),
      let exchange = reader.string(), let routingKey = reader.string(), let type = reader.string(),
      let messageID = reader.string(), let correlationID = reader.optionalString(),
      let causationID = reader.optionalString(), let traceparent = reader.optionalString(),
      let timestamp = reader.integer(), let discardAfter = reader.integer(), let body = reader.block()
    else { return nil }
    var message = OutgoingMessage(
      duty, to: (exchange, routingKey), type: MessageType(parsing: type) ?? MessageType(type), messageID: messageID,
      correlationID: correlationID, cause: nil, at: UnixTime(milliseconds: timestamp), body: Array(body))
    message.causationID = causationID
    message.traceparent = traceparent
    message.discardAfter = discardAfter == .max ? nil : UnixTime(milliseconds: discardAfter)
    return message
  }

  /// Lengths are stored plus one, so that zero stands for "absent".
  private struct Reader {
    var bytes: ArraySlice<UInt8>

    mutating func integer() -> Int64? {
      guard bytes.count >= 8 else { return nil }
      defer { bytes = bytes.dropFirst(8) }
      return bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    mutating func optionalBlock() -> ArraySlice<UInt8>?? {
      guard bytes.count >= 4 else { return nil }
      let length = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      bytes = bytes.dropFirst(4)
      guard length > 0 else { return .some(nil) }
      guard bytes.count >= length - 1 else { return nil }
      defer { bytes = bytes.dropFirst(length - 1) }
      return bytes.prefix(length - 1)
    }

    mutating func block() -> ArraySlice<UInt8>? { optionalBlock() ?? nil }

    mutating func string() -> String? { block().map { String(decoding: $0, as: UTF8.self) } }

    mutating func optionalString() -> String?? {
      optionalBlock().map { $0.map { String(decoding: $0, as: UTF8.self) } }
    }
  }
}
