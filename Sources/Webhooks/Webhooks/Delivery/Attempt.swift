import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPClient

/// An event on its way to a webhook.
struct Attempt: Sendable {
  let webhook: Webhook
  let lane: RecordID
  let number: Int
  /// See ``Lane/claim``.
  let claim: String
  let claimedAt: UnixTime
  let event: QueuedEvent
}

/// Result of an attempt, for the store.
struct Ended: Sendable {
  let attempt: Attempt
  let outcome: Outcome
}

/// Requests of Standard Webhooks 1.0.0.
enum WebhookRequest {
  static let timeouts = HTTPTimeouts(connect: .seconds(3), total: .seconds(10))
  /// Maximum length of an answer, which is not read. With a longer one the event counts as not delivered.
  static let maxAnswerBytes = 64 << 10

  static func make(_ attempt: Attempt, secret: [UInt8], at now: UnixTime) -> HTTPRequest {
    let (id, body) = (attempt.event.messageID, attempt.event.payload)
    return HTTPRequest(
      method: "POST", url: attempt.webhook.url,
      headers: [
        "Content-Type": "application/json", "webhook-id": id, "webhook-timestamp": "\(now.seconds)",
        "webhook-signature": signature(of: body, id: id, at: now.seconds, secret: secret),
      ],
      body: body, timeouts: timeouts, isIdempotent: true, maxResponseBytes: maxAnswerBytes)
  }

  static func signature(of body: [UInt8], id: String, at seconds: Int64, secret: [UInt8]) -> String {
    let content = Array("\(id).\(seconds).".utf8) + body
    return "v1," + Base64.encode(HMAC.authenticate(content, key: secret, digest: .sha256))
  }
}
