/// A message on its way to one recipient.
public struct SMTPMessage: Sendable {
  /// The envelope sender, to which reports of failed delivery go.
  public var sender: String
  /// The envelope recipient.
  public var recipient: String
  /// Header and body. All lines end in CRLF. Dots at line starts are the transport's affair.
  public var content: [UInt8]

  public init(sender: String, recipient: String, content: [UInt8]) {
    self.sender = sender
    self.recipient = recipient
    self.content = content
  }

  /// Whether the server has to offer SMTPUTF8 (RFC 6531).
  var isInternational: Bool { !(sender + recipient).utf8.allSatisfy { $0 < 0x80 } }

  /// Whether an address could end its command and begin another.
  var breaksCommands: Bool {
    (sender + recipient).unicodeScalars.contains { $0.value < 0x21 || $0.value == 0x7F || $0 == "<" || $0 == ">" }
  }
}
