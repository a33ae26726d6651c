import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// Reason of APNs to refuse a push: `{"reason": …}` with its status
/// (https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns).
struct APNsReason: Error, Sendable, Equatable {
  let name: String
  let status: Int
  /// Time since when the token is no longer valid; with status 410 only.
  var since: UnixTime?

  static let badCollapseID = known("BadCollapseId")
  static let badDeviceToken = known("BadDeviceToken")
  static let badExpirationDate = known("BadExpirationDate")
  static let badMessageID = known("BadMessageId")
  static let badPath = known("BadPath")
  static let badPriority = known("BadPriority")
  static let deviceTokenNotForTopic = known("DeviceTokenNotForTopic")
  static let duplicateHeaders = known("DuplicateHeaders")
  static let expiredProviderToken = known("ExpiredProviderToken")
  static let invalidProviderToken = known("InvalidProviderToken")
  static let invalidPushType = known("InvalidPushType")
  static let methodNotAllowed = known("MethodNotAllowed")
  static let missingDeviceToken = known("MissingDeviceToken")
  static let missingProviderToken = known("MissingProviderToken")
  static let missingTopic = known("MissingTopic")
  static let payloadEmpty = known("PayloadEmpty")
  static let payloadTooLarge = known("PayloadTooLarge")
  static let tooManyProviderTokenUpdates = known("TooManyProviderTokenUpdates")
  static let topicDisallowed = known("TopicDisallowed")
  static let unrelatedKeyID = known("UnrelatedKeyIdInToken")

  /// All reasons that are documented or were observed, with their status.
  static let statuses: [String: Int] = [
    "BadCollapseId": 400, "BadDeviceToken": 400, "BadExpirationDate": 400, "BadMessageId": 400, "BadPriority": 400,
    "BadTopic": 400, "DeviceTokenNotForTopic": 400, "DuplicateHeaders": 400, "IdleTimeout": 400,
    "InvalidPushType": 400, "MissingDeviceToken": 400, "MissingTopic": 400, "PayloadEmpty": 400,
    "TopicDisallowed": 400,
    "BadCertificate": 403, "BadCertificateEnvironment": 403, "BadEnvironmentKeyIdInToken": 403,
    "ExpiredProviderToken": 403, "Forbidden": 403, "InvalidProviderToken": 403, "MissingProviderToken": 403,
    "UnrelatedKeyIdInToken": 403,
    "BadPath": 404, "MethodNotAllowed": 405, "ExpiredToken": 410, "Unregistered": 410, "PayloadTooLarge": 413,
    "TooManyProviderTokenUpdates": 429, "TooManyRequests": 429, "InternalServerError": 500,
    "ServiceUnavailable": 503, "Shutdown": 503,
  ]

  private static func known(_ name: String) -> APNsReason { APNsReason(name: name, status: statuses[name] ?? 400) }

  /// Reason that APNs gives for a status without a reason of its own.
  static func status(_ status: Int) -> APNsReason {
    switch status {
    case 403: APNsReason(name: "Forbidden", status: 403)
    case 429: APNsReason(name: "TooManyRequests", status: 429)
    case 503: APNsReason(name: "ServiceUnavailable", status: 503)
    case 500...: APNsReason(name: "InternalServerError", status: status)
    default: APNsReason(name: "Status\(status)", status: status)
    }
  }

  /// Answer, which repeats the ID of the push.
  func response(id: String) -> HTTPServerResponse {
    let since = since.map { ",\"timestamp\":\($0.milliseconds)" } ?? ""
    var response = HTTPServerResponse.json(status: status, "{\"reason\":\(JSONString.quote(name))\(since)}")
    response.headers.add(name: "apns-id", value: id)
    return response
  }
}
