import CountersignTelemetry

/// The body of `POST /control/devices`: registers a device token, and says what is to become of its pushes.
struct DeviceOrder: ControlOrder {
  static let fields: Set<String> = ["deviceToken", "environment", "topic", "reason", "status", "timestamp", "count"]
  static let maxCount = 10_000_000
  /// The topic of a device that takes pushes for every app.
  private static let anything = "*"

  private let deviceToken: String
  /// production, unless it says sandbox, or any.
  private let environment: String?
  /// The app, or * for any.
  private let topic: String
  private let reason: String?
  private let status: Int?
  private let timestamp: Int64?
  private let count: Int?

  /// The device, and its token.
  func device() throws(ControlProblem) -> (token: String, device: SimulatedDevice) {
    guard let token = DeviceToken.normalized(deviceToken) else {
      throw ControlProblem("deviceToken must be \(DeviceToken.description)")
    }
    return (
      token,
      SimulatedDevice(
        environment: try place(), topic: topic == Self.anything ? nil : topic, reason: try refusal(),
        remaining: try Self.within(count, 1...Self.maxCount, "count"))
    )
  }

  private func place() throws(ControlProblem) -> APNsEnvironment? {
    switch environment ?? APNsEnvironment.production.rawValue {
    case "any": return nil
    case let name:
      guard let known = APNsEnvironment(rawValue: name) else {
        throw ControlProblem("environment must be production, sandbox or any")
      }
      return known
    }
  }

  private func refusal() throws(ControlProblem) -> APNsReason? {
    guard let reason else { return nil }
    let given = try Self.within(status, 400...599, "status")
    guard let status = given ?? APNsReason.statuses[reason] else {
      throw ControlProblem("reason \(reason) is none that is known; give its status too")
    }
    return APNsReason(name: reason, status: status, since: timestamp.map { UnixTime(milliseconds: $0) })
  }
}
