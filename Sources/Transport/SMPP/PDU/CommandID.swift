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
