import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPClient
import HTTPServer

/// Vonage's SMS API: `POST /sms/json` (https://developer.vonage.com/api/sms), and its balance.
struct VonageStub: ProviderStub {
  /// Milliseconds (`ttl`).
  private static let ttls = 20_000...604_800_000
  private static let maxReferenceLength = 40
  /// Parameters of the description that Vonage publishes (github.com/Nexmo/api-specification, definitions/sms.yml
  /// 1.0.10), and of India's registration.
  private static let parameters: Set<String> = [
    "api_key", "api_secret", "sig", "from", "to", "text", "ttl", "status-report-req", "callback", "message-class",
    "type", "vcard", "vcal", "body", "udh", "protocol-id", "title", "url", "validity", "client-ref", "account-ref",
    "entity-id", "content-id",
  ]

  let provider = Provider.vonage
  let settings: SimulatedVonageSettings
  let store: MessageStore
  let receipts: ReceiptReporter
  let callbacks: CallbackURL

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    if request.path == "/account/get-balance" { return ProviderCall { _ in balance(request) } }
    guard request.method == "POST", request.mediaType == Form.mediaType else { throw failure(405) }
    let form = Form(request.body)
    guard form["api_key"] == settings.apiKey, settings.apiSecret.matches(form["api_secret"]) else {
      throw failure(401)
    }
    let recipient = "+" + (form["to"] ?? "")
    return ProviderCall(recipient: recipient) { (now) throws(ProviderError) in
      try check(form, recipient)
      return accept(form, recipient, now)
    }
  }

  /// `GET /account/get-balance`, with Basic authentication (https://developer.vonage.com/api/account).
  private func balance(_ request: HTTPServerRequest) -> HTTPServerResponse {
    let credentials = Base64.encode(Array("\(settings.apiKey):\(settings.apiSecret.reveal())".utf8))
    return Secret("Basic \(credentials)").matches(request.headers["Authorization"])
      ? .json(status: 200, "{\"value\":15.5359,\"autoReload\":false}")
      : .json(status: 401, "{\"error-code\":\"401\",\"error-code-label\":\"authentication failed\"}")
  }

  private func accept(_ form: Form, _ recipient: String, _ now: UnixTime) -> HTTPServerResponse {
    // Without `type=unicode` the text is converted to the GSM alphabet.
    let text = form["type"] == "unicode" ? form["text"] ?? "" : GSMText.arriving(form["text"] ?? "")
    let parts = (1...GSMText.segments(text)).map { _ in
      ReceivedMessage(
        to: recipient, from: form["from"], body: text, receivedAt: now, provider: .vonage,
        id: Hexadecimal.encode(SecureRandom.bytes(8)).uppercased())
    }
    store.record(parts[0])
    if let url = form["callback"] {
      // A delivery report for each part, which has its own ID.
      for part in parts { receipts.post(part) { self.report($0, to: url, reference: form["client-ref"]) } }
    }
    let taken = parts.map { part in
      """
      {"to":\(JSONString.quote(String(recipient.dropFirst()))),"message-id":"\(part.id)","status":"0",\
      "remaining-balance":"15.53590000","message-price":"0.03330000","network":"23410"}
      """
    }
    return .json(
      status: 200, "{\"message-count\":\"\(taken.count)\",\"messages\":[\(taken.joined(separator: ","))]}")
  }
}

// MARK: - Checks and errors, in Vonage's words

extension VonageStub {
  private func check(_ form: Form, _ recipient: String) throws(ProviderError) {
    if let name = form.stranger(to: Self.parameters) { throw Self.error("3", "Unknown param \(name)") }
    guard !form.hasRepeatedField else { throw Self.error("3", "A param is given twice") }
    for name in ["to", "from", "text"] where form[name] == nil { throw Self.error("2", "Missing \(name) param") }
    let digits = recipient.utf8.dropFirst()
    guard (7...15).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw Self.error("3", "Invalid to param")
    }
    guard Recipients.isSender(form["from"] ?? "", maxDigits: 15) else {
      throw Self.error("15", "Invalid sender address")
    }
    if let url = form["callback"], !callbacks.isTaken(url) { throw Self.error("23", "Invalid callback URL") }
    guard ["text", "unicode"].contains(form["type"] ?? "text") else { throw Self.error("3", "Invalid type param") }
    if let ttl = form["ttl"], !Self.ttls.contains(Int(ttl) ?? 0) { throw Self.error("3", "Invalid ttl param") }
    guard (form["client-ref"] ?? "").count <= Self.maxReferenceLength else {
      throw Self.error("3", "Invalid client-ref param")
    }
    switch Recipients.refusal(recipient)?.code {
    case nil: return
    case 21612, 21408: throw Self.error("6", "Unroutable message - rejected")
    case 21610: throw Self.error("7", "Number barred")
    case 21614: throw Self.error("22", "Invalid network code")
    default: throw Self.error("3", "Invalid to param")
    }
  }

  /// Errors have a status of their own, in an answer with HTTP status 200.
  private static func error(_ code: String, _ text: String) -> ProviderError { ProviderError(code, text, status: 200) }

  func failure(_ status: Int) -> ProviderError {
    switch status {
    case 401: Self.error("4", "Bad Credentials")
    case 429: Self.error("1", "Throughput Rate Exceeded - please wait [ 1 ] and retry")
    case 500: Self.error("5", "Internal Error")
    default: ProviderError("", status: status)
    }
  }

  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse {
    guard !error.code.isEmpty else { return HTTPServerResponse(status: error.status, text: "\(error.status)\n") }
    let part = "{\"status\":\"\(error.code)\",\"error-text\":\(JSONString.quote(error.text))}"
    return .json(status: error.status, "{\"message-count\":\"1\",\"messages\":[\(part)]}")
  }
}

// MARK: - Reports

extension VonageStub {
  private func report(_ report: DeliveryReport, to url: String, reference: String?) -> HTTPRequest {
    let (message, time) = (report.message, report.time.rfc3339)
    var fields: [(name: String, value: String)] = [
      ("msisdn", String(message.to.dropFirst())), ("to", message.from ?? ""), ("network-code", "23410"),
      ("messageId", message.id), ("price", "0.03330000"), ("status", Self.word(report.state)),
      // YYMMDDHHMM
      ("scts", time.prefix(16).filter(\.isNumber).dropFirst(2).description),
      ("err-code", String(report.errorCode ?? 0)), ("api-key", settings.apiKey),
      ("message-timestamp", "\(time.prefix(10)) \(time.dropFirst(11).prefix(8))"),
    ]
    if let reference { fields.append(("client-ref", reference)) }
    if report.form == .token { return posted(Self.json(fields), to: url, now: report.time) }
    fields.append(("timestamp", String(report.time.seconds)))
    fields.append(("nonce", Self.random))
    fields.append(("sig", signature(fields)))
    switch report.form {
    case .query: return HTTPRequest(method: "GET", url: FormEncoding.append(fields, to: url))
    case .form:
      return HTTPRequest(
        method: "POST", url: url, headers: ["Content-Type": Form.mediaType], body: FormEncoding.encode(fields))
    case .json, .token:
      return HTTPRequest(
        method: "POST", url: url, headers: ["Content-Type": "application/json"], body: Self.json(fields))
    }
  }

  private static func word(_ state: ReceiptState) -> String {
    switch state {
    case .sent: "accepted"
    case .delivered: "delivered"
    case .undelivered: "failed"
    case .failed: "rejected"
    }
  }

  private static var random: String { Hexadecimal.encode(SecureRandom.bytes(16)) }

  private static func json(_ fields: [(name: String, value: String)]) -> [UInt8] {
    Array("{\(fields.map { "\(JSONString.quote($0)):\(JSONString.quote($1))" }.joined(separator: ","))}".utf8)
  }

  private var secret: [UInt8] { Array(settings.signatureSecret.reveal().utf8) }

  private func signature(_ fields: [(name: String, value: String)]) -> String {
    let text = fields.sorted { $0.0 < $1.0 }
      .map { "&\($0)=" + $1.replacing("&", with: "_").replacing("=", with: "_") }.joined()
    return Hexadecimal.encode(HMAC.authenticate(Array(text.utf8), key: secret, digest: .sha256))
  }

  /// Signed with a token (https://developer.vonage.com/messages/concepts/signed-webhooks).
  private func posted(_ body: [UInt8], to url: String, now: UnixTime) -> HTTPRequest {
    let claims = """
      {"iat":\(now.seconds),"jti":"\(Self.random)","iss":"Vonage",\
      "payload_hash":"\(Hexadecimal.encode(SHA256.hash(body)))","api_key":\(JSONString.quote(settings.apiKey))}
      """
    let token = ReceiptReporter.token(claims, secret: secret)
    return HTTPRequest(
      method: "POST", url: url,
      headers: ["Content-Type": "application/json", "Authorization": "Bearer \(token)"], body: body)
  }
}
