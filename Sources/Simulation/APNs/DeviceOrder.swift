import Telemetry

/// The body of `POST /control/devices`: what is to become of the pushes for a device token.
struct DeviceOrder: ControlOrder {
  static let fields: Set<String> = ["deviceToken", "environment", "topic", "reason", "status", "timestamp", "count"]
  static let maxCount = 10_000_000

  private let deviceToken: String
  private let environment: APNsEnvironment?
  private let topic: String?
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
        environment: environment, topic: topic, reason: try refusal(),
        remaining: try Self.within(count, 1...Self.maxCount, "count"))
    )
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
