import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

struct AppleAnswer: Sendable {
  private struct Body: Decodable, Sendable {
    let error: String?
    let refreshToken: String?
    let accessToken: String?
    let idToken: String?

    enum CodingKeys: String, CodingKey {
      case error
      case refreshToken = "refresh_token"
      case accessToken = "access_token"
      case idToken = "id_token"
    }
  }

  /// Apple has no longer one.
  private static let maxErrorLength = 64

  private let response: ProviderResponse<Body>
  /// One of the six of OAuth 2.0 (RFC 6749, 5.2), or a later one.
  let error: String?
  let token: NextStageWriter.Token?
  /// The user's ID at Apple. The signature of the ID token is not checked: it comes from Apple itself.
  let subject: String?

  init(_ response: HTTPResponse, now: UnixTime) {
    self.response = ProviderResponse(response, now: now)
    let body = self.response.body
    error = body?.error.flatMap { $0.utf8.count <= Self.maxErrorLength && $0.utf8.allSatisfy(Self.isWord) ? $0 : nil }
    switch (body?.refreshToken, body?.accessToken) {
    case (let token?, _) where !token.isEmpty: self.token = .refreshToken(Secret(token))
    case (_, let token?) where !token.isEmpty: self.token = .accessToken(Secret(token))
    default: token = nil
    }
    subject = body?.idToken.flatMap(Self.subject)
  }

  private struct Claims: Decodable {
    let sub: String
  }

  private static func subject(of idToken: String) -> String? {
    let parts = idToken.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])) else { return nil }
    // The decoder's error would quote the token.
    let claims = try? JSONReader(maxBytes: AppleLane.maxResponseBytes).decode(Claims.self, from: payload)
    return claims.flatMap { (1...AppleRevokeJob.maxSubjectBytes).contains($0.sub.utf8.count) ? $0.sub : nil }
  }

  var isSuccess: Bool { response.isSuccess }

  func classification(_ table: ProviderTable) -> Classification { response.classification(table, code: error) }

  private static func isWord(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
  }
}

enum AppleError {
  static let invalidClient = "invalid_client"
}
