/// One PDU as received: header decoded, body still raw.
struct Frame: Sendable, Hashable {
  let command: UInt32
  let status: CommandStatus
  let sequence: UInt32
  let body: ArraySlice<UInt8>
}

struct FrameReader {
  static let headerBytes = 16
  /// Maximum length of a PDU: a payload of 64 KiB and the largest other fields.
  static let maxBytes = 0x1_1000

  /// Received bytes. Those from `start` on are not handed out yet.
  private var buffer: [UInt8] = []
  private var start = 0

  mutating func append(_ bytes: some Collection<UInt8>) {
    if start > 0 {
      buffer.removeFirst(start)
      start = 0
    }
    buffer.append(contentsOf: bytes)
  }

  mutating func next() throws(BadLength) -> Frame? {
    var reader = ByteReader(buffer[start...])
    guard buffer.count - start >= Self.headerBytes, let length = reader.uint32(), let command = reader.uint32(),
      let status = reader.uint32(), let sequence = reader.uint32()
    else { return nil }
    guard (UInt32(Self.headerBytes)...UInt32(Self.maxBytes)).contains(length) else {
      throw BadLength(sequence: sequence)
    }
    guard let body = reader.bytes(Int(length) - Self.headerBytes) else { return nil }
    start += Int(length)
    return Frame(
      command: command, status: CommandStatus(rawValue: status), sequence: sequence, body: ArraySlice(Array(body)))
  }

  struct BadLength: Error {
    /// Field in the position of the sequence number.
    let sequence: UInt32
  }
}

/// The field `command_id` (SMPP 3.4, 5.1.2.1).
enum CommandID {
  static let genericNack: UInt32 = 0x8000_0000
  static let submit: UInt32 = 0x04
  static let submitResponse: UInt32 = 0x8000_0004
  static let deliver: UInt32 = 0x05
  static let deliverResponse: UInt32 = 0x8000_0005
  static let unbind: UInt32 = 0x06
  static let unbindResponse: UInt32 = 0x8000_0006
  static let bindTransceiver: UInt32 = 0x09
  static let bindTransceiverResponse: UInt32 = 0x8000_0009
  static let enquireLink: UInt32 = 0x15
  static let enquireLinkResponse: UInt32 = 0x8000_0015
  static let alertNotification: UInt32 = 0x102

  static func isResponse(_ id: UInt32) -> Bool { id & 0x8000_0000 != 0 }
}

/// Tags of the optional parameters in use (SMPP 3.4, 5.3.2).
enum OptionalParameter {
  static let receiptedMessageID: UInt16 = 0x001E
  static let networkErrorCode: UInt16 = 0x0423
  static let messagePayload: UInt16 = 0x0424
  static let messageState: UInt16 = 0x0427
}
