import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// Vonage's SMS API: `POST /sms/json` (https://developer.vonage.com/api/sms).
struct VonageMessages: Sendable {
  let settings: SimulatedVonageSettings
  let inbox: ProviderInbox
  let receipts: ReceiptReporter
  let callbacks: CallbackURL

  func reply(_ request: HTTPServerRequest) async -> HTTPServerReply {
    guard request.method == "POST", request.mediaType == Form.mediaType else {
      return inbox.count(HTTPServerResponse(status: 405, text: "Method Not Allowed\n"), .vonage)
    }
    let form = VonageForm(request.body)
    guard isSigned(form) else { return inbox.count(refuse(.credentials), .vonage) }
    return await inbox.answer(.vonage, to: form.recipient) { status in
      VonageError.failure(status).map(Self.answer) ?? HTTPServerResponse(status: status, text: "\(status)\n")
    } process: {
      create(form)
    }
  }

  /// `GET /account/get-balance`, with Basic authentication (https://developer.vonage.com/api/account).
  func balance(_ request: HTTPServerRequest) -> HTTPServerReply {
    let credentials = Base64.encode(Array("\(settings.apiKey):\(settings.apiSecret.reveal())".utf8))
    let isKnown = constantTimeEquals(
      Array((request.headers["Authorization"] ?? "").utf8), Array("Basic \(credentials)".utf8))
    return inbox.count(
      isKnown
        ? .json(status: 200, "{\"value\":15.5359,\"autoReload\":false}")
        : .json(status: 401, "{\"error-code\":\"401\",\"error-code-label\":\"authentication failed\"}"), .vonage)
  }

  private func isSigned(_ form: VonageForm) -> Bool {
    form["api_key"] == settings.apiKey
      && constantTimeEquals(Array((form["api_secret"] ?? "").utf8), Array(settings.apiSecret.reveal().utf8))
  }

  private func create(_ form: VonageForm) -> HTTPServerResponse {
    do throws(VonageError) {
      try form.check(callbacks)
    } catch {
      return refuse(error)
    }
    let text = form.arrivingText
    let parts = (1...SegmentCount.of(text)).map { _ in
      ReceivedMessage(
        to: form.recipient, from: form["from"], body: text, receivedAt: inbox.clock.now(), provider: .vonage,
        id: Hexadecimal.encode(SecureRandom.bytes(8)).uppercased())
    }
    _ = inbox.record(parts[0])
    if let url = form["callback"] {
      let writer = VonageReceiptWriter(url: url, reference: form["client-ref"], settings: settings)
      // A delivery report for each part, which has its own ID.
      for part in parts { receipts.report(part, by: writer) }
    }
    return .json(status: 200, Self.body(parts.map(Self.taken)))
  }

  private func refuse(_ error: VonageError) -> HTTPServerResponse {
    inbox.refuse("vonage \(error.status)")
    return Self.answer(error)
  }

  private static func answer(_ error: VonageError) -> HTTPServerResponse {
    .json(status: 200, body(["{\"status\":\"\(error.status)\",\"error-text\":\(JSONString.quote(error.text))}"]))
  }

  private static func taken(_ message: ReceivedMessage) -> String {
    """
    {"to":\(JSONString.quote(String(message.to.dropFirst()))),"message-id":"\(message.id)","status":"0",\
    "remaining-balance":"15.53590000","message-price":"0.03330000","network":"23410"}
    """
  }

  private static func body(_ parts: [String]) -> String {
    "{\"message-count\":\"\(parts.count)\",\"messages\":[\(parts.joined(separator: ","))]}"
  }
}
