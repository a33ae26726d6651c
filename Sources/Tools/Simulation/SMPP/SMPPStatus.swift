/// SMPP 3.4, 5.1.3.
enum SMPPStatusCode {
  static let ok: UInt32 = 0x00
  static let invalidMessageLength: UInt32 = 0x01
  static let invalidCommandLength: UInt32 = 0x02
  static let invalidCommandID: UInt32 = 0x03
  static let incorrectBindStatus: UInt32 = 0x04
  static let alreadyBound: UInt32 = 0x05
  static let invalidPriority: UInt32 = 0x06
  static let invalidRegisteredDelivery: UInt32 = 0x07
  static let systemError: UInt32 = 0x08
  static let invalidSource: UInt32 = 0x0A
  static let invalidDestination: UInt32 = 0x0B
  static let bindFailed: UInt32 = 0x0D
  static let invalidPassword: UInt32 = 0x0E
  static let invalidSystemID: UInt32 = 0x0F
  static let messageQueueFull: UInt32 = 0x14
  static let invalidServiceType: UInt32 = 0x15
  static let invalidESMClass: UInt32 = 0x43
  static let invalidSourceTON: UInt32 = 0x48
  static let invalidSourceNPI: UInt32 = 0x49
  static let invalidDestinationTON: UInt32 = 0x50
  static let invalidDestinationNPI: UInt32 = 0x51
  static let invalidSystemType: UInt32 = 0x53
  static let invalidReplaceFlag: UInt32 = 0x54
  static let throttled: UInt32 = 0x58
  static let invalidSchedule: UInt32 = 0x61
  static let invalidValidity: UInt32 = 0x62
  static let permanentReceiverError: UInt32 = 0x65
  static let rejected: UInt32 = 0x66
  static let invalidOptionalPart: UInt32 = 0xC0
  static let optionalParameterNotAllowed: UInt32 = 0xC1
  /// Code of SMPP 5.0, which servers of 3.4 use as well.
  static let invalidDataCoding: UInt32 = 0x104

  /// Status that corresponds to one of HTTP, as ordered in faults.
  static func ofHTTP(_ status: Int) -> UInt32 {
    switch status {
    case 429: throttled
    case 503: messageQueueFull
    case 500...: systemError
    default: permanentReceiverError
    }
  }

  /// Notation of the documents: `0x00000058`.
  static func text(_ status: UInt32) -> String {
    let digits = String(status, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }
}
