import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPServer

/// `POST /3/device/{token}`: Apple's push service, for provider tokens
/// (https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns).
struct APNsStub: ProviderStub {
  /// For all push types but VoIP.
  private static let maxPayloadBytes = 4_096
  private static let maxCollapseIDBytes = 64
  private static let headers: Set<String> = [
    "apns-id", "apns-push-type", "apns-expiration", "apns-priority", "apns-topic", "apns-collapse-id",
  ]
  private static let pushTypes: Set<String> = [
    "alert", "background", "complication", "controls", "fileprovider", "liveactivity", "location", "mdm",
    "pushtotalk", "voip", "widgets",
  ]

  let provider = Provider.apns
  private let tokenCheck: ProviderTokenCheck
  private let topics: Set<String>
  private let devices: DeviceRegistry
  private let pushes: Journal<ReceivedPush>

  init(
    _ settings: SimulatedAPNsSettings, devices: DeviceRegistry, pushes: Journal<ReceivedPush>
  ) throws(SimulationError) {
    tokenCheck = ProviderTokenCheck(keys: try TokenKeys(settings.keys), teamID: settings.teamID)
    topics = settings.topics
    self.devices = devices
    self.pushes = pushes
  }

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    let parts = request.path.split(separator: "/")
    guard parts.count >= 2, parts[1] == "device", parts.count <= 3 else { throw .apns("BadPath") }
    guard request.method == "POST" else { throw .apns("MethodNotAllowed") }
    guard parts.count == 3 else { throw .apns("MissingDeviceToken") }
    try tokenCheck.check(request, now: now)
    let topic = try topic(request.headers)
    guard topics.contains(topic) else { throw .apns("TopicDisallowed") }
    guard request.body.count <= Self.maxPayloadBytes else { throw .apns("PayloadTooLarge") }
    // A payload that is not a JSON object, or has no `aps`, counts as empty.
    guard (try? JSONReader.requests.value(of: request.body))?.members?["aps"]?.members != nil else {
      throw .apns("PayloadEmpty")
    }
    guard let token = SimulatedDeviceToken.normalized(parts[2]) else { throw .apns("BadDeviceToken") }
    return ProviderCall(recipient: token) { (now) throws(ProviderError) in
      let environment = SimulatedAPNsEnvironment(host: request.headers["Host"] ?? "")
      try devices.check(token, environment, topic: topic, now: now)
      pushes.append(ReceivedPush(request, deviceToken: token, receivedAt: now), key: token)
      var response = HTTPServerResponse(status: 200, headers: ["apns-id": Self.id(request)])
      if environment == .sandbox {
        response.headers.add(name: "apns-unique-id", value: UUID().uuidString.lowercased())
      }
      return response
    }
  }

  func failure(_ status: Int) -> ProviderError {
    switch status {
    case 403: .apns("Forbidden")
    case 429: .apns("TooManyRequests")
    case 503: .apns("ServiceUnavailable")
    case 500...: ProviderError("InternalServerError", status: status)
    default: ProviderError("Status\(status)", status: status)
    }
  }

  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse {
    let since = error.detail.map { ",\"timestamp\":\($0)" } ?? ""
    var response = HTTPServerResponse.json(
      status: error.status, "{\"reason\":\(JSONString.quote(error.code))\(since)}")
    response.headers.add(name: "apns-id", value: Self.id(request))
    return response
  }
}

// MARK: - Header fields

extension APNsStub {
  private func topic(_ headers: HTTPServerHeaders) throws(ProviderError) -> String {
    let given = headers.fields.map { $0.name.lowercased() }.filter(Self.headers.contains)
    guard Set(given).count == given.count else { throw .apns("DuplicateHeaders") }
    if let id = headers["apns-id"], !Self.isUUID(id) { throw .apns("BadMessageId") }
    guard let type = headers["apns-push-type"], Self.pushTypes.contains(type) else { throw .apns("InvalidPushType") }
    // Priority 10 is the default, and an error for a background push.
    let priorities = type == "background" ? ["1", "5"] : ["1", "5", "10"]
    guard priorities.contains(headers["apns-priority"] ?? "10") else { throw .apns("BadPriority") }
    if let text = headers["apns-expiration"], (Int64(text) ?? -1) < 0 { throw .apns("BadExpirationDate") }
    guard (headers["apns-collapse-id"] ?? "").utf8.count <= Self.maxCollapseIDBytes else {
      throw .apns("BadCollapseId")
    }
    guard let topic = headers["apns-topic"], !topic.isEmpty else { throw .apns("MissingTopic") }
    return topic
  }

  /// Apple generates one in capitals in place of a missing or invalid one.
  private static func id(_ request: HTTPServerRequest) -> String {
    guard let id = request.headers["apns-id"], isUUID(id) else { return UUID().uuidString }
    return id
  }

  private static func isUUID(_ text: String) -> Bool {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    return groups.map(\.utf8.count) == [8, 4, 4, 4, 12] && groups.allSatisfy { $0.allSatisfy(\.isHexDigit) }
  }
}

// MARK: - Reasons

extension ProviderError {
  /// All reasons that are documented
  /// (https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns) or were
  /// observed, with their status.
  static let apnsStatuses: [String: Int] = [
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

  static func apns(_ reason: String) -> ProviderError { ProviderError(reason, status: apnsStatuses[reason] ?? 400) }
}

struct ReceivedPush: Sendable {
  let deviceToken: String
  /// Names in lower case, without the provider token.
  let headers: [(name: String, value: String)]
  let payload: String
  let receivedAt: UnixTime

  init(_ request: HTTPServerRequest, deviceToken: String, receivedAt: UnixTime) {
    self.deviceToken = deviceToken
    headers = request.headers.fields.map { (name: $0.name.lowercased(), value: $0.value) }
      .filter { $0.name.hasPrefix("apns-") || $0.name == "host" }
    payload = String(decoding: request.body, as: UTF8.self)
    self.receivedAt = receivedAt
  }

  var json: String {
    let fields = headers.map { "\(JSONString.quote($0.name)):\(JSONString.quote($0.value))" }.joined(separator: ",")
    return """
      {"deviceToken":"\(deviceToken)","headers":{\(fields)},"payload":\(payload),"receivedAt":"\(receivedAt.rfc3339)"}
      """
  }
}
