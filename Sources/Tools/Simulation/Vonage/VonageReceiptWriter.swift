import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPClient

/// Writes Vonage's delivery reports, in all forms that its customers can choose.
struct VonageReceiptWriter: ReceiptWriter {
  /// `callback` of the message.
  let url: String
  /// `client-ref` of the message.
  let reference: String?
  let settings: SimulatedVonageSettings

  func request(
    _ message: ReceivedMessage, _ state: ReceiptState, errorCode: Int?, form: ReceiptForm, now: UnixTime
  ) -> HTTPRequest {
    let time = now.rfc3339
    var fields: [(name: String, value: String)] = [
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
      return HTTPRequest(
        method: "GET", url: url + separator + String(decoding: FormEncoding.encode(fields), as: UTF8.self))
    case .form:
      return HTTPRequest(
        method: "POST", url: url, headers: ["Content-Type": Form.mediaType], body: FormEncoding.encode(fields))
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

  private static var random: String { Hexadecimal.encode(SecureRandom.bytes(16)) }

  private func json(_ fields: [(name: String, value: String)]) -> [UInt8] {
    Array("{\(fields.map { "\(JSONString.quote($0)):\(JSONString.quote($1))" }.joined(separator: ","))}".utf8)
  }

  private func signature(_ fields: [(name: String, value: String)]) -> String {
    let text = fields.sorted { $0.0 < $1.0 }
      .map { "&\($0)=" + $1.replacing("&", with: "_").replacing("=", with: "_") }.joined()
    return Hexadecimal.encode(HMAC.authenticate(Array(text.utf8), key: secret, digest: .sha256))
  }

  private var secret: [UInt8] { Array(settings.signatureSecret.reveal().utf8) }

  /// Signed with a token (https://developer.vonage.com/messages/concepts/signed-webhooks).
  private func posted(_ body: [UInt8], now: UnixTime) -> HTTPRequest {
    let hash = Hexadecimal.encode(SHA256.hash(body))
    let claims = """
      {"iat":\(now.seconds),"jti":"\(Self.random)","iss":"Vonage","payload_hash":"\(hash)",\
      "api_key":\(JSONString.quote(settings.apiKey))}
      """
    return HTTPRequest(
      method: "POST", url: url,
      headers: [
        "Content-Type": "application/json", "Authorization": "Bearer " + JSONWebToken.sign(claims, secret: secret),
      ], body: body)
  }
}
