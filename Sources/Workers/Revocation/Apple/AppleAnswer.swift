import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// What Apple answered to a request for tokens or to a revocation.
struct AppleAnswer: Sendable {
  /// What a code was exchanged for.
  enum Yield: Sendable {
    case refreshToken(Secret)
    /// Apple gave no refresh token; to revoke this one ends the grant as well.
    case accessToken(Secret)
  }

  let status: Int
  /// Apple's word for what is wrong: one of the six of OAuth 2.0 (RFC 6749, 5.2), or a later one.
  let error: String?
  let yield: Yield?
  private let retryAfter: Duration?

  private struct Body: Decodable {
    let error: String?
    let refreshToken: String?
    let accessToken: String?

    enum CodingKeys: String, CodingKey {
      case error
      case refreshToken = "refresh_token"
      case accessToken = "access_token"
    }
  }

  /// A longer word is none of Apple's.
  private static let maxErrorLength = 64

  init(_ response: HTTPResponse, now: UnixTime) {
    status = response.status
    retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.parse($0, now: now) }
    // No body after a revocation, and a gateway's page in the place of an answer: then the status has to do.
    let body = try? JSONReader.answers.decode(Body.self, from: response.body)
    error = body?.error.flatMap { $0.utf8.count <= Self.maxErrorLength && $0.utf8.allSatisfy(Self.isWord) ? $0 : nil }
    switch (body?.refreshToken, body?.accessToken) {
    case (let token?, _) where !token.isEmpty: yield = .refreshToken(Secret(token))
    case (_, let token?) where !token.isEmpty: yield = .accessToken(Secret(token))
    default: yield = nil
    }
  }

  var isSuccess: Bool { status / 100 == 2 }

  /// What an answer means that is no success.
  func classification(_ table: ProviderTable) -> Classification {
    ProviderAnswer(status: status, code: error, retryAfter: retryAfter).classification(table)
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
  }
}
