import CountersignMessages
import CountersignTelemetry

/// How long a token of somebody else's may be: sealed, it has to fit into the body of a job.
enum TokenLimit {
  /// Those of Google and Apple have some thousand bytes at most.
  static let maxBytes = 16 * 1024
  /// Of a client's user agent, which reCAPTCHA is told. Those of browsers have some hundred.
  static let maxUserAgentBytes = 512

  /// - Throws: the error that the caller gets.
  static func check(_ token: Secret, field: String) throws(APIError) {
    guard token.reveal().utf8.count <= maxBytes else {
      throw APIError(.invalidArgument, "\(field) is longer than \(maxBytes) bytes", field: field)
    }
  }
}
