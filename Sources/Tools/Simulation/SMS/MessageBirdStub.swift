import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPClient
import HTTPServer

/// MessageBird's REST API: `POST /messages` (https://developers.messagebird.com/api/sms-messaging), and its balance.
struct MessageBirdStub: ProviderStub {
  /// Seconds.
  private static let validities = 1...172_800
  private static let maxReferenceLength = 128
  /// Nine segments: 153 septets each, or 67 characters of Unicode.
  private static let maxSegments = 9
  /// In seconds.
  private static let signatureLifetime: Int64 = 60

  private struct Order: Decodable {
    let originator: String?
    let recipients: [String]?
    let body: String?
    let datacoding: String?
    let validity: Int?
    let reference: String?
    let reportUrl: String?

    /// In E.164.
    var recipient: String { "+" + (recipients?.first ?? "") }

    /// The text as it arrives: `plain` is converted to the GSM alphabet.
    var arrivingBody: String {
      (datacoding ?? "plain") == "plain" ? GSMText.arriving(body ?? "") : body ?? ""
    }
  }

  let provider = Provider.messageBird
  let settings: SimulatedMessageBirdSettings
  let store: MessageStore
  let receipts: ReceiptReporter
  let callbacks: CallbackURL

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    let isKnown = Secret("AccessKey \(settings.accessKey.reveal())").matches(request.headers["Authorization"])
    // https://developers.messagebird.com/api/balance
    if request.path == "/balance" {
      return ProviderCall { _ in
        isKnown
          ? .json(status: 200, "{\"payment\":\"prepaid\",\"type\":\"credits\",\"amount\":9.2}")
          : response(to: failure(401), request)
      }
    }
    guard isKnown else { throw failure(401) }
    guard request.method == "POST" else { throw failure(405) }
    // The answer to unreadable JSON is the same for all reasons.
    guard request.mediaType == "application/json",
      let order = try? JSONReader.requests.decode(Order.self, from: request.body)
    else { throw failure(400) }
    return ProviderCall(recipient: order.recipient) { (now) throws(ProviderError) in
      try check(order)
      return accept(order, now)
    }
  }

  private func accept(_ order: Order, _ now: UnixTime) -> HTTPServerResponse {
    let message = ReceivedMessage(
      to: order.recipient, from: order.originator, body: order.arrivingBody, receivedAt: now,
      provider: .messageBird, id: Hexadecimal.encode(SecureRandom.bytes(16)))
    store.record(message)
    if let url = order.reportUrl, let reference = order.reference {
      receipts.post(message) { self.report($0, to: url, reference: reference) }
    }
    return .json(
      status: 201,
      """
      {"id":"\(message.id)","href":"https://rest.messagebird.com/messages/\(message.id)","direction":"mt","type":"sms",\
      "originator":\(JSONString.quote(message.from)),"body":\(JSONString.quote(message.body)),\
      "reference":\(JSONString.quote(order.reference)),"reportUrl":\(JSONString.quote(order.reportUrl)),\
      "validity":\(order.validity.map(String.init) ?? "null"),"datacoding":"\(order.datacoding ?? "plain")",\
      "createdDatetime":"\(now.rfc3339)","recipients":{"totalCount":1,"totalSentCount":1,"totalDeliveredCount":0,\
      "totalDeliveryFailedCount":0,"items":[{"recipient":\(message.to.dropFirst()),"status":"sent",\
      "statusDatetime":"\(now.rfc3339)","messagePartCount":\(GSMText.segments(message.body))}]}}
      """)
  }
}

// MARK: - Checks and errors, in MessageBird's terms

extension MessageBirdStub {
  private func check(_ order: Order) throws(ProviderError) {
    guard let originator = order.originator, !originator.isEmpty else { throw Self.missing("originator") }
    guard order.body?.isEmpty == false else { throw Self.missing("body") }
    guard let recipients = order.recipients, !recipients.isEmpty else { throw Self.missing("recipients") }
    // The API answers a wrong number with code 9 and `recipient` (github.com/messagebird/ruby-rest-api issue 24).
    guard recipients.count == 1, Recipients.isE164(order.recipient) else { throw Self.missing("recipient") }
    guard Recipients.isSender(originator, maxDigits: 17) else { throw Self.invalid("originator") }
    guard ["plain", "unicode", "auto"].contains(order.datacoding ?? "plain") else { throw Self.invalid("datacoding") }
    guard GSMText.segments(order.arrivingBody) <= Self.maxSegments else { throw Self.invalid("body") }
    guard Self.validities.contains(order.validity ?? 1) else { throw Self.invalid("validity") }
    guard (order.reference ?? "").count <= Self.maxReferenceLength else { throw Self.invalid("reference") }
    // A report names the message by its reference.
    guard order.reportUrl == nil || order.reference != nil else { throw Self.missing("reference") }
    if let url = order.reportUrl, !callbacks.isTaken(url) { throw Self.invalid("reportUrl") }
    if Recipients.refusal(order.recipient) != nil { throw Self.missing("recipient") }
  }

  private static func missing(_ parameter: String) -> ProviderError {
    ProviderError("9", "no (correct) \(parameter) found", status: 422, field: parameter)
  }

  private static func invalid(_ parameter: String) -> ProviderError {
    ProviderError("10", "\(parameter) is invalid", status: 422, field: parameter)
  }

  func failure(_ status: Int) -> ProviderError {
    switch status {
    case 401: ProviderError("2", "Request not allowed (incorrect access_key)", status: 401, field: "access_key")
    case 404, 405: ProviderError("20", "not found", status: status)
    case 500...: ProviderError("99", "internal error", status: status)
    default: ProviderError("21", "bad request", status: status)
    }
  }

  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse {
    .json(
      status: error.status,
      """
      {"errors":[{"code":\(error.code),"description":\(JSONString.quote(error.text)),\
      "parameter":\(JSONString.quote(error.field))}]}
      """)
  }
}

// MARK: - Reports

extension MessageBirdStub {
  /// Status report (https://developers.messagebird.com/api/sms-messaging/#handle-a-status-report), signed as in
  /// https://developers.messagebird.com/api/#verifying-http-requests.
  private func report(_ report: DeliveryReport, to url: String, reference: String) -> HTTPRequest {
    var fields: [(name: String, value: String)] = [
      ("id", report.message.id), ("reference", reference), ("recipient", String(report.message.to.dropFirst())),
      ("status", Self.word(report.state)), ("statusDatetime", report.time.rfc3339),
    ]
    if let errorCode = report.errorCode { fields.append(("statusErrorCode", String(errorCode))) }
    let whole = FormEncoding.append(fields, to: url)
    let claims = """
      {"iss":"MessageBird","nbf":\(report.time.seconds),"exp":\(report.time.seconds + Self.signatureLifetime),\
      "jti":"\(Hexadecimal.encode(SecureRandom.bytes(16)))",\
      "url_hash":"\(Hexadecimal.encode(SHA256.hash(Array(whole.utf8))))"}
      """
    let token = ReceiptReporter.token(claims, secret: Array(settings.signingKey.reveal().utf8))
    return HTTPRequest(method: "GET", url: whole, headers: ["MessageBird-Signature-JWT": token])
  }

  private static func word(_ state: ReceiptState) -> String {
    switch state {
    case .sent: "sent"
    case .delivered: "delivered"
    case .undelivered: "delivery_failed"
    case .failed: "expired"
    }
  }
}
