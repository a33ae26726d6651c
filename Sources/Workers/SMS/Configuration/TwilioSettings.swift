import CountersignTelemetry
import ServiceRuntime

/// A lane of type `twilio`.
struct TwilioSettings: Sendable {
  let configuration: TwilioConfiguration
  let password: Secret
  /// What Twilio signs its reports with.
  let authToken: Secret

  init(_ section: ConfigurationSection) {
    let baseURL = section.baseURL(default: "https://api.twilio.com", "Where Twilio is, without the path of the API.")
    let accountSID = section.string("accountSID", "The account's SID (AC…).")
    let username = section.optionalString(
      "username", "The SID of an API key (SK…), if the password is that key's secret.")
    password = section.requiredSecretFile("passwordFile", "The account's auth token, or the secret of the API key.")
    let token = section.secretFile(
      "authTokenFile", "The account's auth token, which signs Twilio's reports; needed only beside username.")
    authToken = token ?? password
    for (key, sid) in [("accountSID", accountSID), ("username", username ?? "")] where !sid.isEmpty {
      section.check(key, Self.isSID(sid), "must be a SID: letters and digits")
    }
    configuration = TwilioConfiguration(
      baseURL: baseURL, accountSID: accountSID, username: username, sender: Self.sender(section))
  }

  private static func sender(_ section: ConfigurationSection) -> TwilioConfiguration.Sender {
    let from = section.from("Who the message is from: a number, a short code or an alphanumeric sender ID.")
    let service = section.optionalString("messagingServiceSID", "The messaging service (MG…) that chooses the sender.")
    switch (from, service) {
    case (let from?, nil): return .number(from)
    case (nil, let service?):
      section.check("messagingServiceSID", isSID(service), "must be a SID: letters and digits")
      return .messagingService(service)
    case (nil, nil):
      section.problem("from", "is required, or messagingServiceSID in its place: who the message is from")
    case (.some, .some):
      section.problem("from", "stands beside messagingServiceSID: keep one of them")
    }
    return .number("")
  }

  private static func isSID(_ text: String) -> Bool { text.isMatched(by: \.isLetterOrDigit, length: 2...64) }
}
