import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// Checks the headers of a webhook (Standard Webhooks 1.0.0, "Verifying signatures").
struct WebhookVerifier: Sendable {
  static let secretPrefix = "whsec_"
  /// Allowed length of a secret, in bytes.
  static let secretLength = 24...64
  /// Maximum number of signatures examined per webhook.
  static let maxSignatures = 10

  private let secrets: [[UInt8]]
  private let tolerance: Duration

  init(_ secrets: Secret, tolerance: Duration) throws(SimulationError) {
    self.tolerance = tolerance
    let words = secrets.reveal().split(whereSeparator: \.isWhitespace)
    self.secrets = words.compactMap { word in
      guard word.hasPrefix(Self.secretPrefix) else { return nil }
      return Base64.decode(String(word.dropFirst(Self.secretPrefix.count)))
    }
    guard !words.isEmpty, self.secrets.count == words.count,
      self.secrets.allSatisfy({ Self.secretLength.contains($0.count) })
    else {
      throw SimulationError(
        code: .invalidSecret, description: "the webhook's secret must be whsec_ and the base64 of 24 to 64 bytes")
    }
  }

  /// ID of the webhook; throws the reason if it is not authentic.
  func verify(_ request: HTTPServerRequest, now: UnixTime) throws(WebhookError) -> String {
    guard let id = request.headers["webhook-id"], !id.isEmpty, let timestamp = request.headers["webhook-timestamp"],
      let signatures = request.headers["webhook-signature"]
    else { throw .unauthorized("the headers webhook-id, webhook-timestamp and webhook-signature are required") }
    let allowed = (now - tolerance).seconds...(now + tolerance).seconds
    guard let seconds = Int64(timestamp), allowed.contains(seconds) else {
      throw .unauthorized("the timestamp is not a number of seconds, too old or too new")
    }
    let signed = Array("\(id).\(timestamp).".utf8) + request.body
    let expected = secrets.map { Array("v1,\(Base64.encode(HMACSHA256.authenticate(signed, key: $0)))".utf8) }
    let given = signatures.split(separator: " ").prefix(Self.maxSignatures).map { Array($0.utf8) }
    let isSigned = given.contains { one in expected.contains { constantTimeEquals($0, one) } }
    guard isSigned else { throw .unauthorized("no signature matches") }
    return id
  }
}
