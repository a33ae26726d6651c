/// An SMS to submit: one segment, or a whole text as a payload that the server splits.
///
/// Holds a phone number and usually a code, so it does not print.
public struct ShortMessage: Sendable, Hashable {
  /// Sender or recipient.
  public struct Address: Sendable, Hashable {
    /// Type of number (SMPP 3.4, 5.2.5).
    public var ton: UInt8
    /// Numbering plan (SMPP 3.4, 5.2.6).
    public var npi: UInt8
    /// ASCII, at most `maxLength` characters.
    public var text: String

    /// Maximum length of an address in characters.
    public static let maxLength = 20

    public init(ton: UInt8, npi: UInt8, text: String) {
      self.ton = ton
      self.npi = npi
      self.text = text
    }
  }

  /// Content of the SMS.
  public enum Content: Sendable, Hashable {
    /// A text of one segment.
    case whole([UInt8])
    /// A text of one segment, whose octets follow a user data header with these information elements.
    case headed([UInt8], [UInt8])
    /// One segment of a longer text. Its octets follow a user data header.
    case part(Concatenation, [UInt8])
    /// A longer text as the parameter `message_payload`.
    case payload([UInt8])
  }

  /// The user data header of a segment (3GPP TS 23.040, 9.2.3.24.1), with a reference of 8 bits.
  public struct Concatenation: Sendable, Hashable {
    /// Identical in all segments of an SMS.
    public var reference: UInt8
    public var total: UInt8
    /// From 1.
    public var number: UInt8
    /// Further information elements of the header.
    public var elements: [UInt8]

    public init(reference: UInt8, total: UInt8, number: UInt8, elements: [UInt8] = []) {
      self.reference = reference
      self.total = total
      self.number = number
      self.elements = elements
    }

    var header: [UInt8] { [UInt8(clamping: 5 + elements.count), 0x00, 0x03, reference, total, number] + elements }
  }

  public var source: Address
  public var destination: Address
  public var content: Content
  /// 0: the server's default alphabet. 8: UCS-2 (SMPP 3.4, 5.2.19).
  public var dataCoding: UInt8
  /// Validity period for the network. `nil`: the server's default.
  public var validity: Duration?
  /// Whether the server is asked for a delivery report.
  public var wantsReceipt: Bool

  public init(
    from source: Address, to destination: Address, _ content: Content, dataCoding: UInt8, validity: Duration? = nil,
    wantsReceipt: Bool = false
  ) {
    self.source = source
    self.destination = destination
    self.content = content
    self.dataCoding = dataCoding
    self.validity = validity
    self.wantsReceipt = wantsReceipt
  }
}

extension ShortMessage: CustomStringConvertible, CustomReflectable {
  public var description: String { "<short message>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
