import CountersignEncoding
import CountersignTelemetry
import Synchronization

/// A device that is registered.
struct SimulatedDevice: Sendable {
  /// Environment in which its token is valid; `nil` for both, which no real one is.
  let environment: APNsEnvironment?
  /// The app that its token is for; `nil` for any, which no real one is.
  let topic: String?
  /// Why pushes are refused.
  let reason: APNsReason?
  /// Pushes that are still refused; `nil` for all.
  var remaining: Int?

  func json(_ token: String) -> String {
    """
    {"deviceToken":"\(token)","environment":\(JSONString.quote(environment?.rawValue)),"topic":\(JSONString.quote(topic)),\
    "reason":\(JSONString.quote(reason?.name)),"remaining":\(remaining.map(String.init) ?? "null")}
    """
  }
}

/// The devices that are registered. Apple does not know any other token.
final class DeviceRegistry: Sendable {
  static let maxDevices = 200_000

  private let devices = Mutex(RecentMap<String, SimulatedDevice>(capacity: DeviceRegistry.maxDevices))

  /// Puts an order into force, in place of an earlier one for that token. Returns it as JSON.
  func add(_ body: [UInt8]) throws(ControlProblem) -> String {
    let (token, device) = try DeviceOrder.read(body).device()
    devices.withLock { $0[token] = device }
    return device.json(token)
  }

  func clear() { devices.withLock { $0.removeAll() } }

  /// Throws why a device does not get a push.
  func check(_ token: String, _ environment: APNsEnvironment, topic: String, now: UnixTime) throws(APNsReason) {
    try devices.withLock { devices throws(APNsReason) in
      guard var device = devices[token] else { throw .badDeviceToken }
      guard device.environment ?? environment == environment else { throw .badDeviceToken }
      guard device.topic ?? topic == topic else { throw .deviceTokenNotForTopic }
      guard var reason = device.reason, device.remaining != 0 else { return }
      device.remaining? -= 1
      devices[token] = device
      if reason.status == 410, reason.since == nil { reason.since = now }
      throw reason
    }
  }
}
