import CSMPP34
import Synchronization

enum PDUWriter {
  /// The library logs its work into a global buffer.
  private static let library = Mutex(())

  /// Room for the mandatory fields of the longest PDU, which is a `submit_sm` of about 360 bytes.
  private static let maxMandatoryBytes = 1024

  static func write(_ pdu: OutgoingPDU, sequence: UInt32) throws(SMPPError) -> [UInt8] {
    switch pdu {
    case .bindTransceiver(let request): return try bind(request, sequence)
    case .submit(let message): return try submit(message, sequence)
    case .deliverResponse(let status):
      var fields = deliver_sm_resp_t()
      fields.command_status = status.rawValue
      fields.sequence_number = sequence
      return try pack(&fields, CommandID.deliverResponse) { $0.command_id = $1 }
    case .enquireLink: return try header(CommandID.enquireLink, sequence)
    case .enquireLinkResponse: return try header(CommandID.enquireLinkResponse, sequence)
    case .unbind: return try header(CommandID.unbind, sequence)
    case .unbindResponse: return try header(CommandID.unbindResponse, sequence)
    case .genericNack(let status): return try header(CommandID.genericNack, sequence, status)
    }
  }

  /// The library has an identical type for each.
  private static func header(
    _ command: UInt32, _ sequence: UInt32, _ status: CommandStatus = .ok
  ) throws(SMPPError) -> [UInt8] {
    var fields = enquire_link_t()
    fields.command_status = status.rawValue
    fields.sequence_number = sequence
    return try pack(&fields, command) { $0.command_id = $1 }
  }

  private static func bind(_ request: BindRequest, _ sequence: UInt32) throws(SMPPError) -> [UInt8] {
    var fields = bind_transceiver_t()
    fields.sequence_number = sequence
    fields.interface_version = UInt8(SMPP_VERSION)
    try set(&fields.system_id, request.systemID)
    try set(&fields.system_type, request.systemType)
    let isLong = request.password.utf8.count > BindRequest.maxPassword
    if !isLong { try set(&fields.password, request.password) }
    let pdu = try pack(&fields, CommandID.bindTransceiver) { $0.command_id = $1 }
    return isLong ? try insert(password: request.password, behind: request.systemID, into: pdu) : pdu
  }

  /// Replaces the empty password with one that is too long for libsmpp34: after header, system ID and its zero.
  private static func insert(
    password: String, behind systemID: String, into pdu: [UInt8]
  ) throws(SMPPError) -> [UInt8] {
    guard password.utf8.count <= BindRequest.maxLongPassword, !password.utf8.contains(0) else {
      throw .invalid("the password is longer than \(BindRequest.maxLongPassword) bytes")
    }
    var bytes = pdu
    let place = headerBytes + systemID.utf8.count + 1
    bytes.insert(contentsOf: password.utf8, at: place)
    bytes.replaceSubrange(0..<4, with: bigEndian(UInt32(bytes.count)))
    return bytes
  }

  /// Length, command, status and sequence number, four bytes each (SMPP 3.4, 3.2).
  private static let headerBytes = 16

  private static func submit(_ message: ShortMessage, _ sequence: UInt32) throws(SMPPError) -> [UInt8] {
    var fields = submit_sm_t()
    fields.sequence_number = sequence
    fields.source_addr_ton = message.source.ton
    fields.source_addr_npi = message.source.npi
    try set(&fields.source_addr, message.source.text)
    fields.dest_addr_ton = message.destination.ton
    fields.dest_addr_npi = message.destination.npi
    try set(&fields.destination_addr, message.destination.text)
    if let validity = message.validity { try set(&fields.validity_period, RelativeTime.text(validity)) }
    fields.registered_delivery = UInt8(message.wantsReceipt ? SMPP34_DELIVERY_RECEIPT_ON : SMPP34_DELIVERY_RECEIPT_OFF)
    fields.data_coding = message.dataCoding
    var payload: [UInt8] = []
    switch message.content {
    case .whole(let octets): try setText(&fields, octets)
    case .headed(let elements, let octets):
      fields.esm_class = UInt8(SMPP34_UDHI_IND)
      try setText(&fields, [UInt8(clamping: elements.count)] + elements + octets)
    case .part(let concatenation, let octets):
      fields.esm_class = UInt8(SMPP34_UDHI_IND)
      try setText(&fields, concatenation.header + octets)
    case .payload(let octets): payload = octets
    }
    let mandatory = try pack(&fields, CommandID.submit) { $0.command_id = $1 }
    return payload.isEmpty ? mandatory : try append(OptionalParameter.messagePayload, payload, to: mandatory)
  }

  private static func setText(_ fields: inout submit_sm_t, _ octets: [UInt8]) throws(SMPPError) {
    // The protocol allows 254, the library one less.
    guard octets.count < 254 else { throw .invalid("the text of a segment is too long") }
    fields.sm_length = UInt8(octets.count)
    withUnsafeMutableBytes(of: &fields.short_message) { $0.copyBytes(from: octets) }
  }

  private static func set<Field>(_ field: inout Field, _ text: String) throws(SMPPError) {
    guard text.utf8.count < MemoryLayout<Field>.size, !text.utf8.contains(0) else {
      throw .invalid("a text is longer than its field of \(MemoryLayout<Field>.size - 1) bytes")
    }
    withUnsafeMutableBytes(of: &field) { $0.copyBytes(from: text.utf8) }
  }

  private static func pack<Fields>(
    _ fields: inout Fields, _ command: UInt32, _ setCommand: (inout Fields, UInt32) -> Void
  ) throws(SMPPError) -> [UInt8] {
    setCommand(&fields, command)
    var status: Int32 = -1
    let bytes = withUnsafeMutablePointer(to: &fields) { fields in
      [UInt8](unsafeUninitializedCapacity: maxMandatoryBytes) { buffer, count in
        var length: Int32 = 0
        status = library.withLock { _ in
          smpp34_pack(command, buffer.baseAddress, Int32(buffer.count), &length, fields)
        }
        count = status == 0 ? Int(length) : 0
      }
    }
    guard status == 0 else { throw .invalid("a field breaks the protocol's rules") }
    return bytes
  }

  /// The library takes at most 1 KiB, which a text of ten segments exceeds.
  private static func append(_ tag: UInt16, _ value: [UInt8], to pdu: [UInt8]) throws(SMPPError) -> [UInt8] {
    guard value.count <= Int(UInt16.max) else { throw .invalid("the text is too long") }
    var bytes = pdu + bigEndian(tag) + bigEndian(UInt16(value.count)) + value
    bytes.replaceSubrange(0..<4, with: bigEndian(UInt32(bytes.count)))
    return bytes
  }

  private static func bigEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian, Array.init)
  }
}

/// A relative time, `YYMMDDhhmmsstnnR` (SMPP 3.4, 7.1.1), counted from now by the server's clock.
enum RelativeTime {
  /// Maximum. Servers disagree on the length of a month, so days are the largest unit.
  static let maximum: Duration = .seconds(30 * 86_400)

  /// Whole seconds, at least one.
  static func text(_ duration: Duration) -> String {
    let seconds = max(1, min(duration, maximum).components.seconds)
    let fields = [0, 0, seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60]
    return fields.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined() + "000R"
  }
}
