import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// What the token endpoint answered (RFC 6749, sections 5.1 and 5.2).
struct TokenAnswer: Sendable {
  /// The longest token that is taken. Google's have at most 2048 bytes.
  static let maxTokenLength = 8192
  /// The longest life that is believed. Google's tokens live for an hour, by exception for twelve
  /// (https://cloud.google.com/iam/docs/create-short-lived-credentials-direct, "Extend the lifetime of an access token").
  static let longestLifeSeconds: Double = 12 * 3600

  private let status: Int
  private let retryAfter: String?
  private let body: Body?

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

  init(_ response: HTTPResponse) {
    status = response.status
    retryAfter = response.headers["Retry-After"]
    // Of an answer that is not this JSON, a gateway's for instance, the status says what it means.
    body = try? JSONReader.answers.decode(Body.self, from: response.body)
  }

  /// - Parameters:
  ///   - now: The moment before the request, from which the token's life counts.
  ///   - answeredAt: The time of the answer, from which `Retry-After` counts.
  func result(
    _ table: ProviderTable, number: Int, now: MonotonicTime, answeredAt: UnixTime
  ) -> Result<AccessToken, AccessTokenFailure> {
    guard status == 200 else { return .failure(failure(table, answeredAt)) }
    guard let text = body?.accessToken else {
      // What Google answers when it does not know a scope is an ID token alone.
      return .failure(Self.unreadable("holds no access token; check tokenURL"))
    }
    guard (1...Self.maxTokenLength).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      body?.tokenType?.lowercased() == "bearer", let seconds = body?.expiresIn, seconds > 0
    else { return .failure(Self.unreadable("holds no bearer token with its life; check tokenURL")) }
    let life = Duration.seconds(min(seconds, Self.longestLifeSeconds))
    return .success(AccessToken(text: Secret(text), number: number, expiresAt: now + life))
  }

  private func failure(_ table: ProviderTable, _ now: UnixTime) -> AccessTokenFailure {
    let wait = retryAfter.flatMap { RetryAfter.parse($0, now: now) }
    switch ProviderAnswer(status: status, code: code(table), retryAfter: wait).classification(table) {
    case .retry(let reason, let after): return .transient(reason, after: after)
    // Nothing is used up by asking for a token, so what is left open is asked again.
    case .unknown(let reason), .lost(let reason, _), .notCalled(let reason, _): return .transient(reason, after: wait)
    case .laneDown(let reason), .refused(let reason, _), .otherLane(let reason, _): return .permanent(reason)
    case .accepted, .continued: return Self.unreadable("is none")
    }
  }

  /// Google says `invalid_grant` of a key that was deleted, of an account that was, and of a clock that is wrong; its description tells them
  /// apart. The text itself goes nowhere.
  private func code(_ table: ProviderTable) -> String? {
    guard let error = body?.error else { return nil }
    let description = body?.errorDescription ?? ""
    let hint = Self.hints.first { description.contains($0.phrase) }
    let known = hint.map { "\(error).\($0.word)" }
    return known.flatMap { table.rule(code: $0, status: status).isOfCode ? $0 : nil } ?? AssessmentText.bounded(error)
  }

  /// As `oauth2.googleapis.com` words it: "Invalid JWT Signature.", "Invalid grant: account not found", "Invalid JWT: Token must be a
  /// short-lived token (60 minutes) and in a reasonable timeframe. …", "Invalid JWT: Failed audience check.".
  private static let hints = [
    (phrase: "JWT Signature", word: "signature"), (phrase: "account not found", word: "account"),
    (phrase: "short-lived token", word: "time"), (phrase: "audience check", word: "audience"),
  ]

  private static func unreadable(_ problem: String) -> AccessTokenFailure {
    // Not by chance, as it would be with a failure: the lane is left alone until it has been mended.
    .permanent(Reason("PROVIDER_CONFIGURATION", "The answer of the token endpoint \(problem)."))
  }

}
