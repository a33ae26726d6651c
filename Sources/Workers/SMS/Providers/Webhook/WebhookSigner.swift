import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import JobEngine

/// Signs webhooks (Standard Webhooks 1.0.0, "Signature scheme"): `v1,` and the base64 of HMAC-SHA-256 over
/// `id.timestamp.body`, once for each secret, separated by spaces. Several secrets allow rotation.
///
/// The ID must not contain a full stop and must not be chosen by others, or the signed text could be split in another
/// way: see ``WebhookID``.
struct WebhookSigner: Sendable {
  /// In bytes.
  static let keyLength = 24...64
  static let maxSecrets = 4
  static let prefix = "whsec_"

  private let keys: [Key]

  /// A key that does not print.
  private struct Key: Sendable, CustomReflectable {
    let bytes: [UInt8]
    var customMirror: Mirror { Mirror(self, children: []) }
  }

  init(_ secrets: Secret) throws(WorkerError) {
    let words = secrets.reveal().split(whereSeparator: \.isWhitespace)
    guard (1...Self.maxSecrets).contains(words.count) else {
      throw WorkerError(
        .invalidSecret, "must hold 1 to \(Self.maxSecrets) secrets, one a line; it holds \(words.count)")
    }
    var keys: [Key] = []
    for (index, word) in words.enumerated() {
      guard word.hasPrefix(Self.prefix), let bytes = Base64.decode(String(word.dropFirst(Self.prefix.count))),
        Self.keyLength.contains(bytes.count)
      else {
        throw WorkerError(
          .invalidSecret, "secret \(index + 1) must be \(Self.prefix) and the base64 of 24 to 64 bytes")
      }
      keys.append(Key(bytes: bytes))
    }
    self.keys = keys
  }

  func signature(id: String, timestamp: String, body: [UInt8]) -> String {
    let content = Array("\(id).\(timestamp).".utf8) + body
    return keys.map { "v1," + Base64.encode(HMACSHA256.authenticate(content, key: $0.bytes)) }.joined(separator: " ")
  }
}
