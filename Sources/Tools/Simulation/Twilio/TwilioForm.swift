/// Form of a message, and the checks that Twilio makes of it.
struct TwilioForm: Sendable {
  /// Maximum length of the body (https://www.twilio.com/docs/errors/21617).
  static let maxBodyLength = 1_600
  /// Seconds (message resource, `ValidityPeriod`).
  static let validityPeriods = 1...36_000

  /// `StatusCallback` (https://www.twilio.com/docs/api/errors/21609).
  static let maxCallbackLength = 4_000
  /// Parameters of the description that Twilio publishes (Tests/Fixtures/twilio-create-message.json).
  static let parameters: Set<String> = [
    "To", "StatusCallback", "ApplicationSid", "MaxPrice", "ProvideFeedback", "Attempt", "ValidityPeriod",
    "ForceDelivery", "ContentRetention", "AddressRetention", "SmartEncoded", "PersistentAction", "ShortenUrls",
    "ScheduleType", "SendAt", "SendAsMms", "ContentVariables", "RiskCheck", "From", "MessagingServiceSid", "Body",
    "MediaUrl", "ContentSid",
  ]

  private let form: Form

  init(_ body: [UInt8]) { form = Form(body) }

  /// Value of a field; an empty one counts as missing.
  subscript(_ name: String) -> String? { form[name] }

  var sender: String? { self["From"] ?? self["MessagingServiceSid"] }

  /// Throws the first problem, in Twilio's words.
  func check(_ callbacks: CallbackURL) throws(TwilioError) {
    // Twilio itself ignores unknown parameters; refusing them here finds misspelled names.
    if let name = form.stranger(to: Self.parameters) { throw .refused(20001, "Unknown parameter: \(name)") }
    guard !form.hasRepeatedField else { throw .refused(20001, "A parameter is given twice.") }
    guard let recipient = self["To"] else { throw .refused(21604, "A 'To' phone number is required.") }
    guard let sender else { throw .refused(21603, "A 'From' phone number is required.") }
    guard let body = self["Body"] else { throw .refused(21602, "Message body is required.") }
    guard body.utf16.count <= Self.maxBodyLength else {
      throw .refused(21617, "The concatenated message body exceeds the 1600 character limit.")
    }
    if let text = self["ValidityPeriod"] {
      guard let seconds = Int(text), Self.validityPeriods.contains(seconds) else {
        throw .refused(90007, "The ValidityPeriod must be from 1 to 36000 seconds.")
      }
    }
    if let url = self["StatusCallback"], !callbacks.isTaken(url, maxLength: Self.maxCallbackLength) {
      throw .refused(21609, "The StatusCallback URL is not a valid URL.")
    }
    if let refusal = Recipients.refusal(recipient) { throw .refused(refusal.code, refusal.message) }
    try check(sender: sender)
  }

  /// Twilio's test numbers, and all forms of a sender: number, short code, up to 11 letters and digits, SID.
  private func check(sender: String) throws(TwilioError) {
    switch sender {
    case "+15005550001": throw .refused(21212, "Invalid 'From' phone number.")
    case "+15005550007":
      throw .refused(21606, "The 'From' phone number is not a valid, SMS-capable number of this account.")
    case "+15005550008":
      throw TwilioError(status: 429, code: 21611, message: "This 'From' number has exceeded its queue.")
    default:
      let isShort = (1...11).contains(sender.utf8.count) && sender.utf8.allSatisfy { (0x20...0x7E).contains($0) }
      let isService = sender.hasPrefix("MG") && sender.utf8.count == 34
      guard Recipients.isE164(sender) || isService || isShort && !sender.hasPrefix("+") else {
        throw .refused(21212, "Invalid 'From' phone number.")
      }
    }
  }
}
