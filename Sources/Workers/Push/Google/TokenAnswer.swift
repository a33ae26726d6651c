import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// RFC 6749, sections 5.1 and 5.2.
struct TokenAnswer: Sendable {
  /// Google's have at most 2048 bytes.
  static let maxTokenLength = 8192
  /// Google's tokens live for an hour, by exception for twelve
  /// (https://cloud.google.com/iam/docs/create-short-lived-credentials-direct, "Extend the lifetime of an access
  /// token").
  static let longestLifeSeconds: Double = 12 * 3600

  private let response: ProviderResponse<Body>

  private struct Body: Decodable {
    let accessToken: String?
    let tokenType: String?
    let expiresIn: Double?
    let error: String?
    let errorDescription: String?

    enum CodingKeys: String, CodingKey {
      case error
      case accessToken = "access_token"
      case tokenType = "token_type"
      case expiresIn = "expires_in"
      case errorDescription = "error_description"
    }
  }

  init(_ response: HTTPResponse, now: UnixTime) {
    self.response = ProviderResponse(response, now: now)
  }

  func result(
    _ table: ProviderTable, number: Int, now: MonotonicTime
  ) -> Result<AccessToken, AccessTokenFailure> {
    guard response.status == 200 else { return .failure(failure(table)) }
    let body = response.body
    guard let text = body?.accessToken else {
      // For an unknown scope Google answers with an ID token alone.
      return .failure(Self.unreadable("holds no access token; check tokenURL"))
    }
    guard (1...Self.maxTokenLength).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      body?.tokenType?.lowercased() == "bearer", let seconds = body?.expiresIn, seconds > 0
    else { return .failure(Self.unreadable("holds no bearer token with a lifetime; check tokenURL")) }
    let life = Duration.seconds(min(seconds, Self.longestLifeSeconds))
    return .success(AccessToken(text: Secret(text), number: number, expiresAt: now + life))
  }

  private func failure(_ table: ProviderTable) -> AccessTokenFailure {
    switch response.classification(table, code: code(table)) {
    case .retry(let reason, let after): return .transient(reason, after: after)
    // A request uses nothing up, so one with an open outcome is repeated.
    case .unknown(let reason), .lost(let reason, _), .notCalled(let reason, _):
      return .transient(reason, after: response.retryAfter)
    case .laneDown(let reason), .refused(let reason, _), .otherLane(let reason, _): return .permanent(reason)
    case .accepted, .continued: return Self.unreadable("is not a token")
    }
  }

  /// Error code with a hint from its description: Google says `invalid_grant` for a deleted key, a deleted account and
  /// a wrong clock alike. The description itself is not passed on.
  private func code(_ table: ProviderTable) -> String? {
    guard let error = response.body?.error else { return nil }
    let description = response.body?.errorDescription ?? ""
    let hint = Self.hints.first { description.contains($0.phrase) }
    let known = hint.map { "\(error).\($0.word)" }
    return known.flatMap { table.rule(code: $0, status: response.status).isOfCode ? $0 : nil }
      ?? AssessmentText.bounded(error)
  }

  /// As `oauth2.googleapis.com` words it: "Invalid JWT Signature.", "Invalid grant: account not found", "Invalid JWT:
  /// Token must be a short-lived token (60 minutes) and in a reasonable timeframe. …", "Invalid JWT: Failed audience
  /// check.".
  private static let hints = [
    (phrase: "JWT Signature", word: "signature"), (phrase: "account not found", word: "account"),
    (phrase: "short-lived token", word: "time"), (phrase: "audience check", word: "audience"),
  ]

  private static func unreadable(_ problem: String) -> AccessTokenFailure {
    // Unlike a failure this does not pass by itself: the lane is left alone until the address is fixed.
    .permanent(Reason("PROVIDER_CONFIGURATION", "The answer of the token endpoint \(problem)."))
  }
}
