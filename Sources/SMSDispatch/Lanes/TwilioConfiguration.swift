import Telemetry

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
  static let validityRange = 1...36_000

  /// Messages are posted here.
  let messagesURL: String
  /// The account itself.
  let accountURL: String
  /// The account SID or the SID of an API key.
  let username: String
  let sender: Sender

  init(baseURL: String, accountSID: String, username: String?, sender: Sender) {
    let base = baseURL.hasSuffix("/") ? String(baseURL.dropLast()) : baseURL
    self.messagesURL = "\(base)/2010-04-01/Accounts/\(accountSID)/Messages.json"
    self.accountURL = "\(base)/2010-04-01/Accounts/\(accountSID).json"
    self.username = username ?? accountSID
    self.sender = sender
  }

  /// `ValidityPeriod`, the seconds for which a network may keep trying: until the deadline, within Twilio's limits.
  ///
  /// - Returns: nil when less than Twilio's shortest is left.
  func validity(until deadline: UnixTime, from now: UnixTime) -> Int? {
    let left = (deadline - now).components.seconds
    guard left >= Int64(Self.validityRange.lowerBound) else { return nil }
    return Int(min(left, Int64(Self.validityRange.upperBound)))
  }
}
