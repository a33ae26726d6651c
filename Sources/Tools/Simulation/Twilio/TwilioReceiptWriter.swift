import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPClient

/// Writes Twilio's status callbacks, signed as Twilio's
/// (https://www.twilio.com/docs/usage/security#validating-requests).
struct TwilioReceiptWriter: ReceiptWriter {
  /// `StatusCallback` of the message.
  let url: String
  let accountSID: String
  let authToken: Secret

  func request(
    _ message: ReceivedMessage, _ state: ReceiptState, errorCode: Int?, form: ReceiptForm, now: UnixTime
  ) -> HTTPRequest {
    let status = Self.word(state)
    var fields: [(name: String, value: String)] = [
      ("AccountSid", accountSID), ("ApiVersion", "2010-04-01"), ("From", message.from ?? ""),
      ("MessageSid", message.id), ("MessageStatus", status), ("SmsSid", message.id), ("SmsStatus", status),
      ("To", message.to),
    ]
    if let errorCode { fields.append(("ErrorCode", String(errorCode))) }
    return HTTPRequest(
      method: "POST", url: url,
      headers: HTTPHeaders([
        (name: "Content-Type", value: Form.mediaType), (name: "User-Agent", value: "TwilioProxy/1.1"),
        (name: "X-Twilio-Signature", value: signature(fields)),
      ]), body: FormEncoding.encode(fields))
  }

  private static func word(_ state: ReceiptState) -> String {
    switch state {
    case .sent: "sent"
    case .delivered: "delivered"
    case .undelivered: "undelivered"
    case .failed: "failed"
    }
  }

  private func signature(_ fields: [(name: String, value: String)]) -> String {
    let text = url + fields.sorted { $0.0 < $1.0 }.map { $0 + $1 }.joined()
    return Base64.encode(
      HMAC.authenticate(Array(text.utf8), key: Array(authToken.reveal().utf8), digest: .sha1))
  }
}
