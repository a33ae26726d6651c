import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// Signs webhooks (Standard Webhooks 1.0.0, "Signature scheme"): `v1,` and the base64 of HMAC-SHA-256 over
/// `id.timestamp.body`, once for each secret, separated by spaces.
///
/// Several secrets let a receiver change over: give both, wait until it knows the new one, take the old one away.
///
/// The ID must have no full stop and must not be chosen by others ("Signature scheme"), else what is signed could be cut otherwise:
/// ``WebhookID`` makes one.
struct WebhookSigner: Sendable {
  /// The length of a secret, in bytes.
  static let keyLength = 24...64
  /// How many secrets one lane may have.
  static let maxSecrets = 4
  static let prefix = "whsec_"

  private let keys: [Key]

  /// A key that does not print.
  private struct Key: Sendable, CustomReflectable {
    let bytes: [UInt8]
    var customMirror: Mirror { Mirror(self, children: []) }
  }

  /// - Parameter secrets: `whsec_…`, one or several between spaces or line breaks; signatures come in this order.
  /// - Throws: `.invalidSecret` when one is none. The message does not show it.
  init(_ secrets: Secret) throws(SMSDispatchError) {
    let words = secrets.reveal().split(whereSeparator: \.isWhitespace)
    guard (1...Self.maxSecrets).contains(words.count) else {
      throw SMSDispatchError(
        .invalidSecret, "must hold 1 to \(Self.maxSecrets) secrets, one a line; it holds \(words.count)")
    }
    var keys: [Key] = []
    for (index, word) in words.enumerated() {
      guard word.hasPrefix(Self.prefix), let bytes = Base64.decode(String(word.dropFirst(Self.prefix.count))),
        Self.keyLength.contains(bytes.count)
      else {
        throw SMSDispatchError(
          .invalidSecret, "secret \(index + 1) must be \(Self.prefix) and the base64 of 24 to 64 bytes")
      }
      keys.append(Key(bytes: bytes))
    }
    self.keys = keys
  }

  /// The header `webhook-signature`.
  func signature(id: String, timestamp: String, body: [UInt8]) -> String {
    let content = Array("\(id).\(timestamp).".utf8) + body
    return keys.map { "v1," + Base64.encode(HMACSHA256.authenticate(content, key: $0.bytes)) }.joined(separator: " ")
  }
}
