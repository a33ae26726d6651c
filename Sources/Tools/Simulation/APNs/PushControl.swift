import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `/control/pushes` and `/control/devices`.
struct PushControl: Sendable {
  let pushes: Journal<ReceivedPush>
  let devices: DeviceRegistry

  func answer(_ request: HTTPServerRequest, _ parts: [Substring]) throws(ControlProblem) -> HTTPServerResponse {
    switch (request.method, parts) {
    case ("GET", ["pushes"]): return try list(request)
    case ("DELETE", ["pushes"]): pushes.clear()
    case ("POST", ["devices"]): return .json(status: 201, try devices.add(request.body))
    case ("DELETE", ["devices"]): devices.clear()
    case (_, ["pushes"]), (_, ["devices"]): throw .notAllowed
    default: throw .notFound
    }
    return .json(status: 200, "{}")
  }

  private func list(_ request: HTTPServerRequest) throws(ControlProblem) -> HTTPServerResponse {
    let token = request.parameter("deviceToken").map { $0.lowercased() }
    let found = pushes.elements(of: token, limit: try ControlAPI.limit(request))
    return .json(status: 200, "[\(found.map(\.json).joined(separator: ",\n"))]\n")
  }
}

/// Push that APNs has accepted.
struct ReceivedPush: Sendable {
  let deviceToken: String
  /// Host and header fields of APNs, names in lower case, without the provider token.
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
