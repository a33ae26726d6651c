struct SMPPRefusal: Error { let status: UInt32 }

/// Checks a `submit_sm` as a careful server does (SMPP 3.4, 4.4.1 and 5.2).
struct SMPPSubmission: Sendable {
  struct Address: Sendable, Hashable {
    let ton: UInt8
    let npi: UInt8
    let text: String
  }

  /// 3GPP TS 23.040, 9.2.3.24.1.
  struct Part: Sendable, Hashable {
    let reference: UInt8
    let total: UInt8
    let number: UInt8
  }

  let source: Address
  let destination: Address
  let dataCoding: UInt8
  let wantsReceipt: Bool
  /// Without the user data header.
  let octets: [UInt8]
  let part: Part?

  /// In E.164.
  var recipient: String { "+" + destination.text }

  private static let payload = 0x0424
  private static let userDataHeader: UInt8 = 0x40
  /// Including the user data header.
  private static let segmentOctets = 140

  init(_ body: [UInt8]) throws(SMPPRefusal) {
    var fields = SMPPFields(body)
    guard let serviceType = fields.text(6), let source = Self.address(&fields),
      let destination = Self.address(&fields), let esmClass = fields.byte(), let protocolID = fields.byte(),
      let priority = fields.byte(), let schedule = fields.text(17), let validity = fields.text(17),
      let registered = fields.byte(), let replace = fields.byte(), let dataCoding = fields.byte(),
      fields.byte() != nil, let length = fields.byte(), let message = fields.bytes(Int(length))
    else { throw SMPPRefusal(status: SMPPStatusCode.invalidCommandLength) }
    try Self.require(serviceType.isEmpty, SMPPStatusCode.invalidServiceType)
    try Self.checkSource(source)
    try Self.checkDestination(destination)
    try Self.require(
      (esmClass == 0 || esmClass == Self.userDataHeader) && protocolID == 0, SMPPStatusCode.invalidESMClass)
    try Self.require(priority <= 3, SMPPStatusCode.invalidPriority)
    try Self.require(schedule.isEmpty, SMPPStatusCode.invalidSchedule)
    try Self.require(validity.isEmpty || Self.isRelativeTime(validity), SMPPStatusCode.invalidValidity)
    try Self.require(registered <= 1, SMPPStatusCode.invalidRegisteredDelivery)
    try Self.require(replace == 0, SMPPStatusCode.invalidReplaceFlag)
    try Self.require(dataCoding == 0 || dataCoding == 8, SMPPStatusCode.invalidDataCoding)
    let payload = try Self.payload(&fields)
    self.source = source
    self.destination = destination
    self.dataCoding = dataCoding
    wantsReceipt = registered == 1
    if let payload {
      try Self.require(message.isEmpty && esmClass == 0 && !payload.isEmpty, SMPPStatusCode.invalidMessageLength)
      (octets, part) = (payload, nil)
    } else if esmClass == Self.userDataHeader {
      (octets, part) = try Self.segment(message, dataCoding)
    } else {
      try Self.require(message.count <= (dataCoding == 0 ? 160 : 140), SMPPStatusCode.invalidMessageLength)
      (octets, part) = (message, nil)
    }
    try Self.require(!octets.isEmpty, SMPPStatusCode.invalidMessageLength)
  }

  private static func require(_ condition: Bool, _ status: UInt32) throws(SMPPRefusal) {
    guard condition else { throw SMPPRefusal(status: status) }
  }

  private static func address(_ fields: inout SMPPFields) -> Address? {
    guard let ton = fields.byte(), let npi = fields.byte(), let text = fields.text(21) else { return nil }
    return Address(ton: ton, npi: npi, text: text)
  }

  /// International number, short code of the network, or alphanumeric sender.
  private static func checkSource(_ source: Address) throws(SMPPRefusal) {
    switch source.ton {
    case 1:
      try require(source.npi == 1, SMPPStatusCode.invalidSourceNPI)
      try require(Recipients.isE164("+" + source.text), SMPPStatusCode.invalidSource)
    case 3:
      try require(source.npi == 0, SMPPStatusCode.invalidSourceNPI)
      try require(
        (3...8).contains(source.text.count) && source.text.allSatisfy(\.isNumber), SMPPStatusCode.invalidSource)
    case 5:
      try require(source.npi == 0, SMPPStatusCode.invalidSourceNPI)
      let isName = source.text.allSatisfy { $0.isLetter || $0.isNumber || " -_.&+".contains($0) }
      try require((1...11).contains(source.text.count) && isName, SMPPStatusCode.invalidSource)
    default: throw SMPPRefusal(status: SMPPStatusCode.invalidSourceTON)
    }
  }

  private static func checkDestination(_ destination: Address) throws(SMPPRefusal) {
    try require(destination.ton == 1, SMPPStatusCode.invalidDestinationTON)
    try require(destination.npi == 1, SMPPStatusCode.invalidDestinationNPI)
    switch Recipients.refusal("+" + destination.text)?.code {
    case nil: break
    case 21610: throw SMPPRefusal(status: SMPPStatusCode.rejected)
    case 21408, 21612: throw SMPPRefusal(status: SMPPStatusCode.permanentReceiverError)
    default: throw SMPPRefusal(status: SMPPStatusCode.invalidDestination)
    }
  }

  /// `YYMMDDhhmmss000R` with valid parts that are not all zero (7.1.1).
  private static func isRelativeTime(_ text: String) -> Bool {
    let digits = text.dropLast().compactMap(\.wholeNumberValue)
    guard text.utf8.count == 16, text.hasSuffix("000R"), digits.count == 15 else { return false }
    let parts = stride(from: 0, to: 12, by: 2).map { digits[$0] * 10 + digits[$0 + 1] }
    return parts.contains { $0 > 0 } && parts[3] < 24 && parts[4] < 60 && parts[5] < 60
  }

  /// The only optional parameter that the server accepts. `nil` if it is absent.
  private static func payload(_ fields: inout SMPPFields) throws(SMPPRefusal) -> [UInt8]? {
    var payload: [UInt8]?
    while !fields.isAtEnd {
      guard let tag = fields.number(), let length = fields.number(), let value = fields.bytes(length) else {
        throw SMPPRefusal(status: SMPPStatusCode.invalidOptionalPart)
      }
      try require(tag == Self.payload && payload == nil, SMPPStatusCode.optionalParameterNotAllowed)
      payload = value
    }
    return payload
  }

  /// User data header, which must be a concatenation and nothing else, and the octets after it.
  private static func segment(_ message: [UInt8], _ dataCoding: UInt8) throws(SMPPRefusal) -> ([UInt8], Part) {
    guard message.count >= 6, message[0] == 5, message[1] == 0, message[2] == 3, message[4] > 1,
      (1...message[4]).contains(message[5])
    else { throw SMPPRefusal(status: SMPPStatusCode.invalidESMClass) }
    let octets = Array(message.dropFirst(6))
    // After a header of six octets and a fill bit, there is room for 153 septets.
    try require(octets.count <= (dataCoding == 0 ? 153 : segmentOctets - 6), SMPPStatusCode.invalidMessageLength)
    return (octets, Part(reference: message[3], total: message[4], number: message[5]))
  }
}
