import CountersignCryptography
import CountersignTelemetry
import HTTPClient

/// Vonage's delivery receipts, in all forms in which its customers may have them.
struct VonageReceiptWriter: ReceiptWriter {
  /// `callback` of the message.
  let url: String
  /// `client-ref` of the message.
  let reference: String?
  let settings: VonageSettings

  func request(
    _ message: ReceivedMessage, _ state: ReceiptState, errorCode: Int?, form: ReceiptForm, now: UnixTime
  ) -> HTTPRequest {
    let time = now.rfc3339
    var fields = [
      ("msisdn", String(message.to.dropFirst())), ("to", message.from ?? ""), ("network-code", "23410"),
      ("messageId", message.id), ("price", "0.03330000"), ("status", Self.word(state)),
      // YYMMDDHHMM
      ("scts", time.prefix(16).filter(\.isNumber).dropFirst(2).description),
      ("err-code", String(errorCode ?? 0)), ("api-key", settings.apiKey),
      ("message-timestamp", "\(time.prefix(10)) \(time.dropFirst(11).prefix(8))"),
    ]
    if let reference { fields.append(("client-ref", reference)) }
    if form == .token { return posted(json(fields), now: now) }
    fields.append(("timestamp", String(now.seconds)))
    fields.append(("nonce", Self.random))
    fields.append(("sig", signature(fields)))
    switch form {
    case .query:
      let separator = url.contains("?") ? "&" : "?"
      return HTTPRequest(method: "GET", url: url + separator + FormText.encode(fields))
    case .form:
      return HTTPRequest(
        method: "POST", url: url, headers: ["Content-Type": Form.mediaType], body: Array(FormText.encode(fields).utf8))
    case .json, .token:
      return HTTPRequest(method: "POST", url: url, headers: ["Content-Type": "application/json"], body: json(fields))
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

  private static var random: String { SecureRandom.bytes(16).map(JSONText.hexadecimal).joined() }

  private func json(_ fields: [(String, String)]) -> [UInt8] {
    Array("{\(fields.map { "\(JSONText.quote($0)):\(JSONText.quote($1))" }.joined(separator: ","))}".utf8)
  }

  private func signature(_ fields: [(String, String)]) -> String {
    let text = fields.sorted { $0.0 < $1.0 }
      .map { "&\($0)=" + $1.replacing("&", with: "_").replacing("=", with: "_") }.joined()
    return HMAC.authenticate(Array(text.utf8), key: secret, digest: .sha256).map(JSONText.hexadecimal).joined()
  }

  private var secret: [UInt8] { Array(settings.signatureSecret.reveal().utf8) }

  /// Signed by a token (https://developer.vonage.com/messages/concepts/signed-webhooks).
  private func posted(_ body: [UInt8], now: UnixTime) -> HTTPRequest {
    let hash = SHA256.hash(body).map(JSONText.hexadecimal).joined()
    let claims = """
      {"iat":\(now.seconds),"jti":"\(Self.random)","iss":"Vonage","payload_hash":"\(hash)",\
      "api_key":\(JSONText.quote(settings.apiKey))}
      """
    return HTTPRequest(
      method: "POST", url: url,
      headers: [
        "Content-Type": "application/json", "Authorization": "Bearer " + JSONWebToken.sign(claims, secret: secret),
      ], body: body)
  }
}
