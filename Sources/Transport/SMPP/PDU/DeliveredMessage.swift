/// A `deliver_sm`: a delivery report, or an SMS from a phone. Addresses and times are skipped.
struct DeliveredMessage: Sendable, Hashable {
  let esmClass: UInt8
  let dataCoding: UInt8
  /// `short_message`, or `message_payload` when that is empty.
  let text: ArraySlice<UInt8>
  private let parameters: [UInt16: ArraySlice<UInt8>]

  /// Further ones are skipped.
  static let maxParameters = 64

  init?(_ reader: inout ByteReader) {
    guard reader.cString(atMost: 5) != nil, Self.skipAddress(&reader), Self.skipAddress(&reader),
      let esmClass = reader.byte(), reader.bytes(2) != nil,
      // Some servers fill in the two times although they have no meaning here.
      reader.cString(atMost: 16) != nil, reader.cString(atMost: 16) != nil, reader.bytes(2) != nil,
      let dataCoding = reader.byte(), reader.byte() != nil,
      let length = reader.byte(), let text = reader.bytes(Int(length)),
      let parameters = Self.parameters(&reader)
    else { return nil }
    self.esmClass = esmClass
    self.dataCoding = dataCoding
    self.parameters = parameters
    self.text = text.isEmpty ? parameters[OptionalParameter.messagePayload] ?? text : text
  }

  subscript(parameter: UInt16) -> ArraySlice<UInt8>? { parameters[parameter] }

  /// Type of number, numbering plan, address.
  private static func skipAddress(_ reader: inout ByteReader) -> Bool {
    reader.bytes(2) != nil && reader.cString(atMost: 20) != nil
  }

  /// The first of each tag counts.
  private static func parameters(_ reader: inout ByteReader) -> [UInt16: ArraySlice<UInt8>]? {
    var parameters: [UInt16: ArraySlice<UInt8>] = [:]
    while !reader.isAtEnd {
      guard let tag = reader.uint16(), let length = reader.uint16(), let value = reader.bytes(Int(length))
      else { return nil }
      if parameters[tag] == nil, parameters.count < maxParameters { parameters[tag] = value }
    }
    return parameters
  }
}
