import FoundationEssentials
import Telemetry

/// What a push carries: nothing to show, and receipt and secret under a key that the app's SDK knows.
///
/// ```json
/// {"aps": {"content-available": 1}, "com.google.firebase.auth": {"receipt": "…", "secret": "…"}}
/// ```
///
/// The SDK of that key takes the value as an object or as a text with the JSON of the object.
struct PushPayload: Sendable, Hashable {
  /// How receipt and secret stand under the key.
  enum Form: String, Sendable, CaseIterable {
    case object, string
  }

  /// APNs takes no larger one (HTTP status 413).
  static let maxBytes = 4096
  static let defaultKey = "com.google.firebase.auth"

  /// The key that the app's SDK looks for.
  let key: String
  let form: Form

  /// - Returns: JSON, perhaps larger than APNs takes.
  func json(receipt: String, secret: Secret) throws -> [UInt8] {
    let proof = Proof(receipt: receipt, secret: secret.reveal())
    switch form {
    case .object: return Array(try Self.encoder.encode(Body(key: key, value: proof)))
    case .string:
      let text = String(decoding: try Self.encoder.encode(proof), as: UTF8.self)
      return Array(try Self.encoder.encode(Body(key: key, value: text)))
    }
  }

  private struct Proof: Encodable {
    let receipt: String
    let secret: String
  }

  private struct Body<Value: Encodable>: Encodable {
    let key: String
    let value: Value

    private struct Alert: Encodable {
      let contentAvailable = 1

      enum CodingKeys: String, CodingKey { case contentAvailable = "content-available" }
    }

    func encode(to encoder: any Encoder) throws {
      var fields = encoder.container(keyedBy: Key.self)
      try fields.encode(Alert(), forKey: Key("aps"))
      try fields.encode(value, forKey: Key(key))
    }
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
  }

  // One for the process: it is safe to share, and making one costs as much as writing a payload.
  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    return encoder
  }()
}
