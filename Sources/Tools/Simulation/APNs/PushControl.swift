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
