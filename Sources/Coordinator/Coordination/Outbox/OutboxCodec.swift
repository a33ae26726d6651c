import CountersignTelemetry

/// Encodes the messages of one row of the outbox: a version, then each message as its fields, strings after their
/// length.
enum OutboxCodec {
  private static let version: UInt8 = 1

  static func encode(_ messages: [OutgoingMessage]) -> [UInt8] {
    var writer = Writer()
    writer.bytes.reserveCapacity(messages.reduce(1) { $0 + $1.body.count + 256 })
    writer.bytes.append(version)
    for message in messages {
      writer.bytes.append(message.duty.rawValue)
      writer.put(message.exchange)
      writer.put(message.routingKey)
      writer.put(message.type)
      writer.put(message.messageID)
      writer.put(message.correlationID)
      writer.put(message.causationID)
      writer.put(message.traceparent)
      writer.put(message.timestamp.milliseconds)
      writer.put(message.discardAfter?.milliseconds ?? .max)
      writer.put(message.body)
    }
    return writer.bytes
  }

  /// - Returns: `nil` when the bytes are not those of ``encode(_:)``.
  static func decode(_ bytes: [UInt8]) -> [OutgoingMessage]? {
    guard bytes.first == version else { return nil }
    var reader = Reader(bytes: bytes[1...])
    var messages: [OutgoingMessage] = []
    while !reader.bytes.isEmpty {
      guard let message = message(&reader) else { return nil }
      messages.append(message)
    }
    return messages
  }

  private static func message(_ reader: inout Reader) -> OutgoingMessage? {
    guard let duty = reader.bytes.popFirst().flatMap(OutgoingMessage.Duty.init(rawValue:)),
      let exchange = reader.string(), let routingKey = reader.string(), let type = reader.string(),
      let messageID = reader.string(), let correlationID = reader.optionalString(),
      let causationID = reader.optionalString(), let traceparent = reader.optionalString(),
      let timestamp = reader.integer(), let discardAfter = reader.integer(), let body = reader.block()
    else { return nil }
    return OutgoingMessage(
      duty: duty, exchange: exchange, routingKey: routingKey, type: type, messageID: messageID,
      correlationID: correlationID, causationID: causationID, traceparent: traceparent,
      timestamp: UnixTime(milliseconds: timestamp),
      discardAfter: discardAfter == .max ? nil : UnixTime(milliseconds: discardAfter), body: Array(body))
  }

  /// Lengths are stored plus one, so that zero stands for "absent".
  private struct Writer {
    var bytes: [UInt8] = []

    mutating func put(_ number: Int64) {
      for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    mutating func put(_ block: some Collection<UInt8>) {
      let length = UInt32(block.count + 1)
      for shift in stride(from: 24, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: length >> UInt32(shift)))
      }
      bytes.append(contentsOf: block)
    }

    mutating func put(_ text: String?) {
      if let text { put(text.utf8) } else { bytes.append(contentsOf: [0, 0, 0, 0]) }
    }
  }

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
