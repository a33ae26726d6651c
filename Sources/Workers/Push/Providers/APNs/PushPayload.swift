import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Content of a push: nothing to show, and receipt and secret under a key that the app's SDK knows.
///
/// ```json
/// {"aps": {"content-available": 1}, "com.google.firebase.auth": {"receipt": "…", "secret": "…"}}
/// ```
///
/// The SDK of that key takes the value as an object or as a text with the JSON of the object.
struct PushPayload: Sendable, Hashable {
  enum Form: String, Sendable, CaseIterable {
    case object, string
  }

  /// Maximum size APNs takes (HTTP status 413).
  static let maxBytes = 4096
  static let defaultKey = "com.google.firebase.auth"

  let key: String
  let form: Form

  func json(receipt: String, secret: Secret) -> [UInt8] {
    var proof = JSONObjectWriter()
    proof.put("receipt", receipt)
    proof.put("secret", secret.reveal())
    var payload = JSONObjectWriter()
    payload.put("aps", object: Self.nothingToShow)
    switch form {
    case .object: payload.put(named: key, object: proof.finished())
    case .string: payload.put(named: key, String(decoding: proof.finished(), as: UTF8.self))
    }
    return payload.finished()
  }

  private static let nothingToShow = Array(#"{"content-available":1}"#.utf8)
}
