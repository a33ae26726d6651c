import CountersignMessages
import CountersignTelemetry

/// Maximum length of a third party's token: sealed, it has to fit into the body of a job.
enum TokenLimit {
  /// Tokens of Google and Apple have a few thousand bytes at most.
  static let maxBytes = 16 * 1024
  /// Maximum length of the client's user agent, which reCAPTCHA receives. Those of browsers have a few hundred bytes.
  static let maxUserAgentBytes = 512

  /// - Throws: the error for the requester.
  static func check(_ token: Secret, field: String) throws(APIError) {
    guard token.reveal().utf8.count <= maxBytes else {
      throw APIError(.invalidArgument, "\(field) is longer than \(maxBytes) bytes", field: field)
    }
  }
}
