import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `POST /webhook/sms`: a receiver as an operator of an SMS gateway would write it.
struct WebhookStub: ProviderStub {
  /// In UTF-16 code units.
  private static let maxTextLength = 1_600

  private struct Payload: Decodable {
    struct Message: Decodable {
      let to: String
      let text: String
      let from: String?
    }
    let type: String
    let data: Message
  }

  let provider = Provider.webhook
  let verifier: WebhookVerifier
  let store: MessageStore

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    guard request.method == "POST" else {
      throw ProviderError("METHOD_NOT_ALLOWED", "only POST is allowed here", status: 405)
    }
    let id = try verifier.verify(request, now: now)
    guard request.mediaType == "application/json" else {
      throw ProviderError("UNSUPPORTED_MEDIA_TYPE", "the body must be application/json", status: 415)
    }
    let payload: Payload
    do { payload = try JSONReader.requests.decode(Payload.self, from: request.body) } catch {
      throw ProviderError("INVALID", "the body must be JSON with type, data.to and data.text")
    }
    guard payload.type == "sms.dispatch" else { throw ProviderError("INVALID", "the type must be sms.dispatch") }
    let message = ReceivedMessage(
      to: payload.data.to, from: payload.data.from, body: payload.data.text, receivedAt: now, provider: .webhook, id: id
    )
    return ProviderCall(recipient: message.to) { (_) throws(ProviderError) in try accept(message) }
  }

  private func accept(_ message: ReceivedMessage) throws(ProviderError) -> HTTPServerResponse {
    guard (1...Self.maxTextLength).contains(message.body.utf16.count) else {
      throw ProviderError("INVALID", "data.text must have 1 to \(Self.maxTextLength) characters")
    }
    if let refusal = Recipients.refusal(message.to) {
      throw ProviderError(String(refusal.code), refusal.message, status: 422)
    }
    guard store.record(message) != .conflicting else {
      throw ProviderError("CONFLICT", "this webhook-id came with another message before", status: 409)
    }
    return .json(status: 202, "{\"reference\":\(JSONString.quote("WH" + message.id))}")
  }

  func failure(_ status: Int) -> ProviderError { ProviderError("INJECTED", "a fault was ordered", status: status) }

  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse {
    .json(
      status: error.status,
      "{\"error\":{\"code\":\(JSONString.quote(error.code)),\"message\":\(JSONString.quote(error.text))}}")
  }
}

/// Checks the headers of a webhook (Standard Webhooks 1.0.0, "Verifying signatures").
struct WebhookVerifier: Sendable {
  static let secretPrefix = "whsec_"
  /// In bytes.
  static let secretLength = 24...64
  static let maxSignatures = 10

  private let secrets: [[UInt8]]
  private let tolerance: Duration

  init(_ secrets: Secret, tolerance: Duration) throws(SimulationError) {
    self.tolerance = tolerance
    let words = secrets.reveal().split(whereSeparator: \.isWhitespace)
    self.secrets = words.compactMap { word in
      guard word.hasPrefix(Self.secretPrefix) else { return nil }
      return Base64.decode(String(word.dropFirst(Self.secretPrefix.count)))
    }
    guard !words.isEmpty, self.secrets.count == words.count,
      self.secrets.allSatisfy({ Self.secretLength.contains($0.count) })
    else {
      throw SimulationError(
        code: .invalidSecret, description: "the webhook's secret must be whsec_ and the base64 of 24 to 64 bytes")
    }
  }

  func verify(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> String {
    guard let id = request.headers["webhook-id"], !id.isEmpty, let timestamp = request.headers["webhook-timestamp"],
      let signatures = request.headers["webhook-signature"]
    else { throw Self.unauthorized("the headers webhook-id, webhook-timestamp and webhook-signature are required") }
    let allowed = (now - tolerance).seconds...(now + tolerance).seconds
    guard let seconds = Int64(timestamp), allowed.contains(seconds) else {
      throw Self.unauthorized("the timestamp is not a number of seconds, too old or too new")
    }
    let signed = Array("\(id).\(timestamp).".utf8) + request.body
    let expected = secrets.map { Array("v1,\(Base64.encode(HMACSHA256.authenticate(signed, key: $0)))".utf8) }
    let given = signatures.split(separator: " ").prefix(Self.maxSignatures).map { Array($0.utf8) }
    let isSigned = given.contains { one in expected.contains { constantTimeEquals($0, one) } }
    guard isSigned else { throw Self.unauthorized("no signature matches") }
    return id
  }

  private static func unauthorized(_ text: String) -> ProviderError {
    ProviderError("UNAUTHORIZED", text, status: 401)
  }
}
