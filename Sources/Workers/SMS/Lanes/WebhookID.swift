import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import JobEngine

/// Makes the header `webhook-id` of a job: `msg_` and 32 letters, digits, hyphens and underscores, the same on every try.
///
/// It is a hash of sender and ID, because a job's own ID is chosen by its sender and may have full stops: `A.1700000000.{…}` would let a signature over
/// `id.timestamp.body` hold for another timestamp and body. The job's own ID is `data.id` of the payload.
enum WebhookID {
  /// Bytes of the hash that are used: 192 bits, which nobody finds twice.
  private static let bytes = 24

  static func make(for attempt: JobAttempt) -> String {
    "msg_" + Base64URL.encode(Array(SHA256.hash(Array(attempt.identity.key.utf8)).prefix(bytes)))
  }
}
