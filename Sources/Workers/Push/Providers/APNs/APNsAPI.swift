import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

extension DeviceEnvironment {
  /// Apple's address of the push service: each of its two serves one environment.
  var host: String {
    switch self {
    case .production: "https://api.push.apple.com"
    case .sandbox: "https://api.sandbox.push.apple.com"
    }
  }
}

struct APNsAPI: HTTPProviderAPI {
  struct Call: Sendable {
    let push: SilentPush
    let id: String
    /// `nil` where the connection's certificate identifies the sender.
    let token: ProviderToken?
  }

  /// One of APNs has at most some hundred bytes.
  private static let maxResponseBytes = 16 * 1024

  let environment: DeviceEnvironment
  /// Without a slash at its end.
  let baseURL: String
  let answerTimeout: Duration
  let table: ProviderTable
  let clock: any WallClock

  func request(_ call: Call, _ attempt: JobAttempt) -> PreparedRequest<HTTPRequest> {
    var headers = HTTPHeaders([
      (name: "apns-topic", value: call.push.topic),
      (name: "apns-push-type", value: "background"),
      // 10 is an error for a push that shows nothing.
      (name: "apns-priority", value: "5"),
      (name: "apns-expiration", value: String(call.push.expiration.seconds)),
      (name: "apns-id", value: call.id),
      (name: "apns-collapse-id", value: call.id),
      (name: "content-type", value: "application/json"),
    ])
    if let token = call.token { headers.add(name: "authorization", value: "bearer \(token.text.reveal())") }
    return .request(
      HTTPRequest(
        method: "POST", url: "\(baseURL)/3/device/\(call.push.deviceToken)", headers: headers, body: call.push.payload,
        timeouts: .within(min(attempt.timeout, answerTimeout)), isIdempotent: true,
        maxResponseBytes: Self.maxResponseBytes))
  }

  func classify(_ response: HTTPResponse, of call: Call) -> Classification {
    let answer = APNsAnswer(response, now: clock.now())
    var extras: ResultExtras = ["environment": .string(environment.rawValue)]
    if answer.isTaken {
      let pushID = answer.pushID ?? call.id
      extras["apnsID"] = .string(pushID)
      return .accepted(reference: pushID, extras: extras)
    }
    extras["unregisteredAt"] = answer.unregisteredAt.map { .string($0.rfc3339) }
    switch answer.classification(table) {
    case .refused(let reason, _): return .refused(reason, extras: extras)
    case .otherLane(let reason, _): return .otherLane(reason, extras: extras)
    case let other: return other
    }
  }
}

struct APNsAnswer: Sendable {
  /// Reasons that concern the token or the connection, besides what the table says about the push.
  enum Reason {
    /// A connection stays bound to the first token it was shown.
    static let expiredProviderToken = "ExpiredProviderToken"
    static let closing: Set<String> = ["IdleTimeout", "Shutdown"]
  }

  private struct Body: Decodable {
    let reason: String?
    let timestamp: Double?
  }

  private static let maxIDLength = 64
  private static let maxReasonLength = 64

  private let response: ProviderResponse<Body>
  let reason: String?

  var isTaken: Bool { response.status == 200 }

  /// Time since which the device token is invalid, with status 410.
  var unregisteredAt: UnixTime? { isTaken ? nil : response.body?.timestamp.flatMap(Self.time) }

  var pushID: String? { response.headers["apns-id"].flatMap { $0.utf8.count <= Self.maxIDLength ? $0 : nil } }

  init(_ response: HTTPResponse, now: UnixTime) {
    self.response = ProviderResponse(response, now: now)
    reason = self.response.status == 200 ? nil : self.response.body?.reason.flatMap { Self.isWord($0) ? $0 : nil }
  }

  func classification(_ table: ProviderTable) -> Classification { response.classification(table, code: reason) }

  /// Whether a reason may go into results and logs.
  private static func isWord(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= maxReasonLength
      && text.unicodeScalars.allSatisfy { $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0) }
  }

  /// In milliseconds since 1970.
  private static func time(_ milliseconds: Double) -> UnixTime? {
    let latest = 253_402_300_799_999.0  // The end of the year 9999.
    return (0...latest).contains(milliseconds) ? UnixTime(milliseconds: Int64(milliseconds)) : nil
  }
}

/// The same UUID on every try, so that the device keeps one of several pushes.
enum PushID {
  /// A UUID derived (RFC 9562, version 8) from sender and ID: two senders may give the same ID to two jobs.
  static func make(for job: MessageIdentity) -> String {
    var bytes = Array(SHA256.hash(Array(job.key.utf8)).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    return Hexadecimal.uuid(bytes)
  }
}
