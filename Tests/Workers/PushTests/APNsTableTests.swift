import CountersignTelemetry
import HTTPClient
import JobEngine
import Testing

@testable import Push

@Suite struct APNsTableTests {
  private func classify(_ status: Int, _ body: String) throws -> (Classification, APNsAnswer) {
    let answer = APNsAnswer(HTTPResponse(status: status, body: Array(body.utf8)), now: Sample.now)
    return (answer.classification(try Sample.apnsTable()), answer)
  }

  /// All reasons that Apple documents or that public clients list.
  @Test(
    arguments: [
      (400, "BadCollapseId", "refused PUSH_REFUSED"), (400, "BadDeviceToken", "otherLane WRONG_ENVIRONMENT"),
      (400, "BadExpirationDate", "refused PUSH_REFUSED"), (400, "BadMessageId", "refused PUSH_REFUSED"),
      (400, "BadPriority", "refused PUSH_REFUSED"), (400, "BadTopic", "refused WRONG_TOPIC"),
      (400, "DeviceTokenNotForTopic", "refused WRONG_TOPIC"), (400, "DuplicateHeaders", "refused PUSH_REFUSED"),
      (400, "IdleTimeout", "retry PROVIDER_UNAVAILABLE"), (400, "InvalidPushType", "refused PUSH_REFUSED"),
      (400, "MissingDeviceToken", "refused BAD_DEVICE_TOKEN"), (400, "MissingTopic", "refused WRONG_TOPIC"),
      (400, "PayloadEmpty", "refused PUSH_REFUSED"), (400, "TopicDisallowed", "refused WRONG_TOPIC"),
      (400, "TopicMismatch", "refused WRONG_TOPIC"), (403, "BadCertificate", "laneDown PROVIDER_CREDENTIALS"),
      (403, "BadCertificateEnvironment", "laneDown PROVIDER_CREDENTIALS"),
      (403, "BadEnvironmentKeyIdInToken", "laneDown PROVIDER_CREDENTIALS"),
      (403, "BadEnvironmentKeyInToken", "laneDown PROVIDER_CREDENTIALS"),
      (403, "ExpiredProviderToken", "retry PROVIDER_TOKEN"), (403, "Forbidden", "refused PUSH_REFUSED"),
      (403, "InvalidProviderToken", "laneDown PROVIDER_CREDENTIALS"),
      (403, "MissingProviderToken", "laneDown PROVIDER_CREDENTIALS"),
      (403, "UnrelatedKeyIdInToken", "laneDown PROVIDER_CREDENTIALS"),
      (404, "BadPath", "laneDown PROVIDER_CONFIGURATION"),
      (405, "MethodNotAllowed", "laneDown PROVIDER_CONFIGURATION"), (410, "ExpiredToken", "refused UNREGISTERED"),
      (410, "Unregistered", "refused UNREGISTERED"), (413, "PayloadTooLarge", "refused PAYLOAD_TOO_LARGE"),
      (429, "TooManyProviderTokenUpdates", "retry PROVIDER_THROTTLED"), (429, "TooManyRequests", "retry THROTTLED"),
      (500, "InternalServerError", "retry PROVIDER_UNAVAILABLE"),
      (503, "ServiceUnavailable", "retry PROVIDER_UNAVAILABLE"),
      (503, "Shutdown", "retry PROVIDER_UNAVAILABLE"),
    ])
  func `Every reason ends in its class`(status: Int, reason: String, expected: String) throws {
    let (classification, answer) = try classify(status, #"{"reason":"\#(reason)"}"#)
    #expect(classification.short == expected)
    #expect(answer.reason == reason)
    #expect(classification.reason?.providerCode == reason)
  }

  @Test(
    arguments: [
      (400, "refused PUSH_REFUSED"), (402, "refused PUSH_REFUSED"), (401, "laneDown PROVIDER_CREDENTIALS"),
      (403, "laneDown PROVIDER_CREDENTIALS"), (404, "laneDown PROVIDER_CONFIGURATION"),
      (405, "laneDown PROVIDER_CONFIGURATION"), (410, "refused UNREGISTERED"), (413, "refused PAYLOAD_TOO_LARGE"),
      (429, "retry THROTTLED"), (500, "retry PROVIDER_UNAVAILABLE"), (502, "retry PROVIDER_UNAVAILABLE"),
      (302, "laneDown PROVIDER_CONFIGURATION"),
    ])
  func `An unknown reason falls into the class of its status`(status: Int, expected: String) throws {
    #expect(try classify(status, #"{"reason":"SomethingNew"}"#).0.short == expected)
    for page in ["<html>", String(repeating: "[", count: 513)] {
      #expect(try classify(status, page).0.short == expected)
      #expect(try classify(status, page).0.reason?.providerCode == "HTTP \(status)")
    }
  }

  @Test func `Unregistered has its time`() throws {
    let (_, answer) = try classify(410, #"{"reason":"Unregistered","timestamp":1782900000123}"#)
    #expect(answer.unregisteredAt?.rfc3339 == "2026-07-01T10:00:00.123Z")
    #expect(try classify(410, #"{"reason":"Unregistered","timestamp":-1}"#).1.unregisteredAt == nil)
    #expect(try classify(410, #"{"reason":"Unregistered","timestamp":1e300}"#).1.unregisteredAt == nil)
  }

  @Test(
    arguments: ["a b", "a\\n", "é", String(repeating: "x", count: 65), ""])
  func `Reasons that are not words are not repeated`(reason: String) throws {
    #expect(try classify(400, #"{"reason":"\#(reason)"}"#).1.reason == nil)
  }
}
