/// One Twilio account and its sender.
struct TwilioConfiguration: Sendable, Hashable {
  /// Who the message is from.
  enum Sender: Sendable, Hashable {
    /// A number in E.164, a short code or an alphanumeric sender ID.
    case number(String)
    /// The SID of a messaging service, which chooses the number.
    case messagingService(String)
  }

  /// Twilio's own limits of `ValidityPeriod`, in seconds.
  static let validity = 1...36_000

  /// Messages are posted here.
  let messagesURL: String
  /// The account itself.
  let accountURL: String
  /// The account SID or the SID of an API key.
  let username: String
  let sender: Sender

  init(baseURL: String, accountSID: String, username: String?, sender: Sender) {
    let base = LaneRequest.base(baseURL)
    self.messagesURL = "\(base)/2010-04-01/Accounts/\(accountSID)/Messages.json"
    self.accountURL = "\(base)/2010-04-01/Accounts/\(accountSID).json"
    self.username = username ?? accountSID
    self.sender = sender
  }
}
