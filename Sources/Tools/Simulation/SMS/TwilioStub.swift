import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPClient
import HTTPServer

/// Twilio's Messages API: `POST /2010-04-01/Accounts/{sid}/Messages.json`
/// (https://www.twilio.com/docs/messaging/api/message-resource), as strict as Twilio's own.
struct TwilioStub: ProviderStub {
  /// See https://www.twilio.com/docs/errors/21617.
  private static let maxBodyLength = 1_600
  /// Seconds (message resource, `ValidityPeriod`).
  private static let validityPeriods = 1...36_000
  /// `StatusCallback` (https://www.twilio.com/docs/api/errors/21609).
  private static let maxCallbackLength = 4_000
  /// Parameters of the description that Twilio publishes (Tests/Fixtures/twilio-create-message.json).
  private static let parameters: Set<String> = [
    "To", "StatusCallback", "ApplicationSid", "MaxPrice", "ProvideFeedback", "Attempt", "ValidityPeriod",
    "ForceDelivery", "ContentRetention", "AddressRetention", "SmartEncoded", "PersistentAction", "ShortenUrls",
    "ScheduleType", "SendAt", "SendAsMms", "ContentVariables", "RiskCheck", "From", "MessagingServiceSid", "Body",
    "MediaUrl", "ContentSid",
  ]

  let provider = Provider.twilio
  private let accountSID: String
  private let authToken: Secret
  /// Credentials of the account, and of its API key.
  private let authorizations: [[UInt8]]
  private let store: MessageStore
  private let receipts: ReceiptReporter
  private let callbacks: CallbackURL

  init(_ settings: SimulatorSettings, store: MessageStore, receipts: ReceiptReporter) {
    accountSID = settings.accountSID
    authToken = settings.authToken
    authorizations = [
      (settings.accountSID, settings.authToken), (settings.apiKeySID, settings.apiKeySecret),
    ].map { name, secret in
      Array("Basic \(Base64.encode(Array("\(name):\(secret.reveal())".utf8)))".utf8)
    }
    self.store = store
    self.receipts = receipts
    callbacks = CallbackURL(allowsLocal: settings.allowsLocalCallbacks)
  }

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    let parts = request.path.split(separator: "/")
    guard parts.count == 4, parts[1] == "Accounts", parts[3] == "Messages.json" else { throw failure(404) }
    let given = Array((request.headers["Authorization"] ?? "").utf8)
    guard authorizations.contains(where: { constantTimeEquals(given, $0) }), parts[2] == accountSID else {
      throw failure(401)
    }
    guard request.method == "POST" else { throw ProviderError("20004", "Method not allowed", status: 405) }
    guard request.mediaType == Form.mediaType else {
      throw ProviderError("20415", "Unsupported Media Type", status: 415)
    }
    let form = Form(request.body)
    return ProviderCall(recipient: form["To"] ?? "") { (now) throws(ProviderError) in
      try check(form)
      return accept(form, now)
    }
  }

  private func accept(_ form: Form, _ now: UnixTime) -> HTTPServerResponse {
    let message = ReceivedMessage(
      to: form["To"] ?? "", from: form["From"] ?? form["MessagingServiceSid"], body: form["Body"] ?? "",
      receivedAt: now, provider: .twilio, id: "SM" + Hexadecimal.encode(SecureRandom.bytes(16)))
    store.record(message)
    if let url = form["StatusCallback"] { receipts.post(message) { self.report($0, to: url) } }
    let date = MailDate.text(now.seconds)
    let path = "/2010-04-01/Accounts/\(accountSID)/Messages/\(message.id)"
    return .json(
      status: 201,
      """
      {"account_sid":\(JSONString.quote(accountSID)),"api_version":"2010-04-01","body":\(JSONString.quote(message.body)),\
      "date_created":"\(date)","date_sent":null,"date_updated":"\(date)","direction":"outbound-api",\
      "error_code":null,"error_message":null,"from":\(JSONString.quote(form["From"])),\
      "messaging_service_sid":\(JSONString.quote(form["MessagingServiceSid"])),"num_media":"0",\
      "num_segments":"\(GSMText.segments(message.body))","price":null,"price_unit":"USD",\
      "sid":"\(message.id)","status":"\(form["From"] == nil ? "accepted" : "queued")",\
      "subresource_uris":{"media":"\(path)/Media.json"},"to":\(JSONString.quote(message.to)),"uri":"\(path).json"}
      """)
  }
}

// MARK: - Checks, in Twilio's words

extension TwilioStub {
  private func check(_ form: Form) throws(ProviderError) {
    // Twilio itself ignores unknown parameters; refusing them here finds misspelled names.
    if let name = form.stranger(to: Self.parameters) { throw ProviderError("20001", "Unknown parameter: \(name)") }
    guard !form.hasRepeatedField else { throw ProviderError("20001", "A parameter is given twice.") }
    guard let recipient = form["To"] else { throw ProviderError("21604", "A 'To' phone number is required.") }
    guard let sender = form["From"] ?? form["MessagingServiceSid"] else {
      throw ProviderError("21603", "A 'From' phone number is required.")
    }
    guard let body = form["Body"] else { throw ProviderError("21602", "Message body is required.") }
    guard body.utf16.count <= Self.maxBodyLength else {
      throw ProviderError("21617", "The concatenated message body exceeds the 1600 character limit.")
    }
    if let text = form["ValidityPeriod"], !Self.validityPeriods.contains(Int(text) ?? 0) {
      throw ProviderError("90007", "The ValidityPeriod must be from 1 to 36000 seconds.")
    }
    if let url = form["StatusCallback"], !callbacks.isTaken(url, maxLength: Self.maxCallbackLength) {
      throw ProviderError("21609", "The StatusCallback URL is not a valid URL.")
    }
    if let refusal = Recipients.refusal(recipient) { throw ProviderError(String(refusal.code), refusal.message) }
    try check(sender: sender)
  }

  /// Twilio's test numbers, and all forms of a sender: number, short code, up to 11 letters and digits, SID.
  private func check(sender: String) throws(ProviderError) {
    switch sender {
    case "+15005550001": throw ProviderError("21212", "Invalid 'From' phone number.")
    case "+15005550007":
      throw ProviderError("21606", "The 'From' phone number is not a valid, SMS-capable number of this account.")
    case "+15005550008": throw ProviderError("21611", "This 'From' number has exceeded its queue.", status: 429)
    default:
      let isShort = (1...11).contains(sender.utf8.count) && sender.utf8.allSatisfy { (0x20...0x7E).contains($0) }
      let isService = sender.hasPrefix("MG") && sender.utf8.count == 34
      guard Recipients.isE164(sender) || isService || isShort && !sender.hasPrefix("+") else {
        throw ProviderError("21212", "Invalid 'From' phone number.")
      }
    }
  }
}

// MARK: - Errors and reports

extension TwilioStub {
  func failure(_ status: Int) -> ProviderError {
    let texts = [
      401: "Authenticate", 404: "The requested resource was not found", 429: "Too Many Requests",
      500: "Internal Server Error", 503: "Service Unavailable",
    ]
    let code = status == 401 ? 20_003 : 20_000 + status
    return ProviderError(String(code), texts[status] ?? "Error \(status)", status: status)
  }

  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse {
    var response = HTTPServerResponse.json(
      status: error.status,
      """
      {"code":\(error.code),"message":\(JSONString.quote(error.text)),\
      "more_info":"https://www.twilio.com/docs/errors/\(error.code)","status":\(error.status)}
      """)
    if error.status == 401 { response.headers.add(name: "WWW-Authenticate", value: "Basic realm=\"Twilio API\"") }
    return response
  }

  /// Status callback, signed as Twilio's (https://www.twilio.com/docs/usage/security#validating-requests).
  private func report(_ report: DeliveryReport, to url: String) -> HTTPRequest {
    let (message, status) = (report.message, report.state.rawValue)
    var fields: [(name: String, value: String)] = [
      ("AccountSid", accountSID), ("ApiVersion", "2010-04-01"), ("From", message.from ?? ""),
      ("MessageSid", message.id), ("MessageStatus", status), ("SmsSid", message.id), ("SmsStatus", status),
      ("To", message.to),
    ]
    if let errorCode = report.errorCode { fields.append(("ErrorCode", String(errorCode))) }
    let signed = url + fields.sorted { $0.0 < $1.0 }.map { $0 + $1 }.joined()
    let signature = HMAC.authenticate(Array(signed.utf8), key: Array(authToken.reveal().utf8), digest: .sha1)
    return HTTPRequest(
      method: "POST", url: url,
      headers: [
        "Content-Type": Form.mediaType, "User-Agent": "TwilioProxy/1.1",
        "X-Twilio-Signature": Base64.encode(signature),
      ], body: FormEncoding.encode(fields))
  }
}
