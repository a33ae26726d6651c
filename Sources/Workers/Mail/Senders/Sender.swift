public import DKIM

/// Who mail is from: header, envelope and signatures belong together.
public struct Sender: Sendable {
  /// The header field `From`.
  public let from: MailAddress
  /// The name beside it.
  public let name: String?
  /// The envelope sender, to which reports of failed delivery go; its domain has the SPF record.
  public let envelope: MailAddress
  public let replyTo: MailAddress?
  /// Each signs.
  public let keys: [DKIMKey]

  /// - Parameters:
  ///   - from: The header field `From`.
  ///   - name: The name beside it.
  ///   - envelope: The envelope sender; `from`, if `nil`.
  ///   - replyTo: The header field `Reply-To`.
  ///   - keys: Each signs.
  public init(
    from: MailAddress, name: String? = nil, envelope: MailAddress? = nil, replyTo: MailAddress? = nil,
    keys: [DKIMKey] = []
  ) {
    self.from = from
    self.name = name
    self.envelope = envelope ?? from
    self.replyTo = replyTo
    self.keys = keys
  }
}
