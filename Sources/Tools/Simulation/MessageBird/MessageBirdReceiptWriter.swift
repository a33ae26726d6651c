import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPClient

/// Writes MessageBird's status reports (https://developers.messagebird.com/api/sms-messaging/#handle-a-status-report),
/// signed
/// as in https://developers.messagebird.com/api/#verifying-http-requests.
struct MessageBirdReceiptWriter: ReceiptWriter {
  /// Lifetime of a signature in seconds.
  private static let lifetime: Int64 = 60

  /// `reportUrl` of the message.
  let url: String
  let reference: String
  let signingKey: Secret

  func request(
    _ message: ReceivedMessage, _ state: ReceiptState, errorCode: Int?, form: ReceiptForm, now: UnixTime
  ) -> HTTPRequest {
    var fields: [(name: String, value: String)] = [
      ("id", message.id), ("reference", reference), ("recipient", String(message.to.dropFirst())),
      ("status", Self.word(state)), ("statusDatetime", now.rfc3339),
    ]
    if let errorCode { fields.append(("statusErrorCode", String(errorCode))) }
    let whole = url + (url.contains("?") ? "&" : "?") + String(decoding: FormEncoding.encode(fields), as: UTF8.self)
    let claims = """
      {"iss":"MessageBird","nbf":\(now.seconds),"exp":\(now.seconds + Self.lifetime),\
      "jti":"\(Hexadecimal.encode(SecureRandom.bytes(16)))",\
      "url_hash":"\(Hexadecimal.encode(SHA256.hash(Array(whole.utf8))))"}
      """
    let token = JSONWebToken.sign(claims, secret: Array(signingKey.reveal().utf8))
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
