/// A mail that has been checked and is ready to be written and signed.
public struct OutgoingMail: Sendable {
  public let to: MailAddress
  public let sender: Sender
  public let text: MailText
  /// Ends the reader's subscription with one POST.
  public let unsubscribeURL: String?

  /// - Parameters:
  ///   - to: The recipient.
  ///   - sender: Who it is from.
  ///   - text: What it says.
  ///   - unsubscribeURL: Ends the reader's subscription with one POST.
  public init(to: MailAddress, sender: Sender, text: MailText, unsubscribeURL: String? = nil) {
    self.to = to
    self.sender = sender
    self.text = text
    self.unsubscribeURL = unsubscribeURL
  }
}

extension OutgoingMail: CustomStringConvertible, CustomReflectable {
  public var description: String { "<mail to \(to)>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
