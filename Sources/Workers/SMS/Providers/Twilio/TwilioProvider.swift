import CountersignTelemetry
import JobEngine
import ServiceRuntime

struct TwilioProvider: SMSProvider {
  static let typeName = "twilio"

  let configuration: TwilioConfiguration
  let password: Secret
  /// Key that Twilio signs its reports with.
  let authToken: Secret

  init(_ section: ConfigurationSection) {
    let baseURL = section.baseURL(default: "https://api.twilio.com", "Address of Twilio, without the path of the API.")
    let accountSID = section.string("accountSID", "The account's SID (AC…).")
    let username = section.optionalString(
      "username", "The SID of an API key (SK…), if the password is that key's secret.")
    password = section.requiredSecretFile("passwordFile", "The account's auth token, or the secret of the API key.")
    let token = section.secretFile(
      "authTokenFile", "The account's auth token, which signs Twilio's reports; needed only with username.")
    authToken = token ?? password
    for (key, sid) in [("accountSID", accountSID), ("username", username ?? "")] where !sid.isEmpty {
      section.check(key, Self.isSID(sid), "must be a SID: letters and digits")
    }
    configuration = TwilioConfiguration(
      baseURL: baseURL, accountSID: accountSID, username: username, sender: Self.sender(section))
  }

  func makeLane(_ context: LaneContext, _ reports: ReportWays) -> SMSProviderLane {
    SMSProviderLane(
      TwilioLane(configuration, password: password, context, reports.addresses),
      reports: TwilioReports(signature: TwilioSignature(authToken: authToken), table: context.table))
  }

  private static func sender(_ section: ConfigurationSection) -> TwilioConfiguration.Sender {
    let from = section.from("The sender: a number, a short code or an alphanumeric sender ID.")
    let service = section.optionalString("messagingServiceSID", "The messaging service (MG…) that chooses the sender.")
    switch (from, service) {
    case (let from?, nil): return .number(from)
    case (nil, let service?):
      section.check("messagingServiceSID", isSID(service), "must be a SID: letters and digits")
      return .messagingService(service)
    case (nil, nil):
      section.problem("from", "is required, or messagingServiceSID instead: the sender of the messages")
    case (.some, .some):
      section.problem("from", "is given together with messagingServiceSID: keep one of them")
    }
    return .number("")
  }

  private static func isSID(_ text: String) -> Bool { text.isMatched(by: \.isLetterOrDigit, length: 2...64) }
}

struct TwilioConfiguration: Sendable, Hashable {
  enum Sender: Sendable, Hashable {
    /// A number in E.164, a short code or an alphanumeric sender ID.
    case number(String)
    /// SID of a messaging service, which chooses the number.
    case messagingService(String)
  }

  /// In seconds.
  static let validity = 1...36_000

  let messagesURL: String
  let accountURL: String
  /// SID of the account or of an API key.
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
