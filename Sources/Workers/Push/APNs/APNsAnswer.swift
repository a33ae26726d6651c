import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// What APNs answered.
struct APNsAnswer: Sendable {
  /// Reasons that say something about the token or the connection, besides what the table says about the push.
  enum Reason {
    /// The provider token is too old; a connection goes by the one that it was shown first.
    static let expiredProviderToken = "ExpiredProviderToken"
    /// APNs closes the connection.
    static let closing: Set<String> = ["IdleTimeout", "Shutdown"]
  }

  let status: Int
  /// Apple's word.
  let reason: String?
  /// Since when the device token is not valid any more, with status 410.
  let unregisteredAt: UnixTime?
  /// The ID that APNs knows the push by.
  let pushID: String?
  private let retryAfter: Duration?

  var isTaken: Bool { status == 200 }

  init(_ response: HTTPResponse, now: UnixTime) {
    status = response.status
    pushID = response.headers["apns-id"].flatMap { $0.utf8.count <= Self.maxIDLength ? $0 : nil }
    retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.parse($0, now: now) }
    let body = response.status == 200 ? nil : Self.body(response)
    reason = body?.reason.flatMap { Self.isWord($0) ? $0 : nil }
    unregisteredAt = body?.timestamp.flatMap(Self.time)
  }

  /// What it means for the push, when APNs did not take it.
  func classification(_ table: ProviderTable) -> Classification {
    ProviderAnswer(status: status, code: reason, retryAfter: retryAfter).classification(table)
  }

  private struct Body: Decodable {
    let reason: String?
    let timestamp: Double?
  }

  private static let maxIDLength = 64
  private static let maxReasonLength = 64

  private static func body(_ response: HTTPResponse) -> Body? {
    do {
      return try JSONReader.answers.decode(Body.self, from: response.body)
    } catch {
      // A gateway's page in the place of an answer: the status has to do.
      return nil
    }
  }

  /// The word goes into results and logs.
  private static func isWord(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= maxReasonLength
      && text.unicodeScalars.allSatisfy { $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0) }
  }

  /// Milliseconds since 1970.
  private static func time(_ milliseconds: Double) -> UnixTime? {
    let latest = 253_402_300_799_999.0  // The end of the year 9999.
    return (0...latest).contains(milliseconds) ? UnixTime(milliseconds: Int64(milliseconds)) : nil
  }
}
