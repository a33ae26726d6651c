import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPServer

/// `POST /3/device/{token}`: Apple's push service, for provider tokens.
struct APNsGateway: Sendable {
  /// Maximum size of a payload in bytes, for all push types but VoIP.
  static let maxPayloadBytes = 4_096

  private let tokenCheck: ProviderTokenCheck
  private let topics: Set<String>
  private let devices: DeviceRegistry
  private let pushes: Journal<ReceivedPush>
  private let gate: ProviderGate

  init(
    _ settings: SimulatedAPNsSettings, devices: DeviceRegistry, pushes: Journal<ReceivedPush>, gate: ProviderGate
  ) throws(SimulationError) {
    tokenCheck = ProviderTokenCheck(keys: try TokenKeys(settings.keys), teamID: settings.teamID)
    topics = settings.topics
    self.devices = devices
    self.pushes = pushes
    self.gate = gate
  }

  func reply(_ request: HTTPServerRequest, _ parts: [Substring]) async -> HTTPServerReply {
    // Apple generates an ID for a push without one, in capitals.
    let id = request.headers["apns-id"] ?? UUID().uuidString
    do throws(APNsReason) {
      let (token, headers) = try check(request, parts)
      return await gate.answer(.apns, to: token) {
        APNsReason.status($0).response(id: id)
      } process: {
        take(request, token, headers, id: id)
      }
    } catch {
      return gate.count(error.response(id: error == .badMessageID ? UUID().uuidString : id), .apns)
    }
  }

  private func check(
    _ request: HTTPServerRequest, _ parts: [Substring]
  ) throws(APNsReason) -> (token: String, headers: PushHeaders) {
    guard parts.count >= 2, parts[1] == "device", parts.count <= 3 else { throw .badPath }
    guard request.method == "POST" else { throw .methodNotAllowed }
    guard parts.count == 3 else { throw .missingDeviceToken }
    try tokenCheck.check(request, now: gate.clock.now())
    let headers = try PushHeaders(request.headers)
    guard topics.contains(headers.topic) else { throw .topicDisallowed }
    guard request.body.count <= Self.maxPayloadBytes else { throw .payloadTooLarge }
    // A payload that is not a JSON object, or has no `aps`, counts as empty.
    guard (try? JSONReader.requests.value(of: request.body))?.members?["aps"]?.members != nil else {
      throw .payloadEmpty
    }
    guard let token = SimulatedDeviceToken.normalized(parts[2]) else { throw .badDeviceToken }
    return (token, headers)
  }

  private func take(
    _ request: HTTPServerRequest, _ token: String, _ headers: PushHeaders, id: String
  ) -> HTTPServerResponse {
    let environment = SimulatedAPNsEnvironment(host: request.headers["Host"] ?? "")
    let now = gate.clock.now()
    do throws(APNsReason) {
      try devices.check(token, environment, topic: headers.topic, now: now)
    } catch {
      return error.response(id: id)
    }
    pushes.append(ReceivedPush(request, deviceToken: token, receivedAt: now), key: token)
    var response = HTTPServerResponse(status: 200, headers: ["apns-id": id])
    if environment == .sandbox { response.headers.add(name: "apns-unique-id", value: UUID().uuidString.lowercased()) }
    return response
  }
}
