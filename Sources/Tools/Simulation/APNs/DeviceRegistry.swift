import CountersignEncoding
import CountersignTelemetry
import Synchronization

/// Registered device.
struct SimulatedDevice: Sendable {
  /// Environment in which its token is valid; `nil` means both, which no real token is.
  let environment: SimulatedAPNsEnvironment?
  /// App that its token is for; `nil` means any, which no real token is.
  let topic: String?
  let reason: APNsReason?
  /// Number of pushes still to refuse; `nil` means all.
  var remaining: Int?

  func json(_ token: String) -> String {
    """
    {"deviceToken":"\(token)","environment":\(JSONString.quote(environment?.rawValue)),"topic":\(JSONString.quote(topic)),\
    "reason":\(JSONString.quote(reason?.name)),"remaining":\(remaining.map(String.init) ?? "null")}
    """
  }
}

/// Registered devices; Apple does not know any other token.
final class DeviceRegistry: Sendable {
  static let maxDevices = 200_000

  private let devices = Mutex(RecentMap<String, SimulatedDevice>(capacity: DeviceRegistry.maxDevices))

  /// Registers a device, replacing an earlier registration of the token. Returns it as JSON.
  func add(_ body: [UInt8]) throws(ControlProblem) -> String {
    let (token, device) = try DeviceOrder.read(body).device()
    devices.withLock { $0[token] = device }
    return device.json(token)
  }

  func clear() { devices.withLock { $0.removeAll() } }

  /// Throws the reason if a device does not get a push.
  func check(_ token: String, _ environment: SimulatedAPNsEnvironment, topic: String, now: UnixTime) throws(APNsReason)
  {
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

/// Environment of APNs. A device token belongs to one of the two.
enum SimulatedAPNsEnvironment: String, Sendable, Decodable {
  case production
  case sandbox

  /// Environment of a host: `api.sandbox.push…` and `api.development.push…` are the sandbox, with any suffix.
  init(host: String) {
    let labels = host.lowercased().split(separator: ".")
    self = labels.contains("sandbox") || labels.contains("development") ? .sandbox : .production
  }
}

/// Form of device tokens: in practice 32 bytes, although Apple asks not to rely on their length.
enum SimulatedDeviceToken {
  private static let hexDigits = 64...200
  static let description = "an even number of hexadecimal digits, \(hexDigits.lowerBound) to \(hexDigits.upperBound)"

  /// The token in lower case, or `nil` if it is not one.
  static func normalized(_ text: some StringProtocol) -> String? {
    let isToken =
      hexDigits.contains(text.utf8.count) && text.utf8.count % 2 == 0
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
      }
    return isToken ? text.lowercased() : nil
  }
}

/// Body of `POST /control/devices`: registers a device token, and the outcome of its pushes.
struct DeviceOrder: ControlOrder {
  static let fields: Set<String> = ["deviceToken", "environment", "topic", "reason", "status", "timestamp", "count"]
  static let maxCount = 10_000_000
  /// Topic of a device that takes pushes for every app.
  private static let anything = "*"

  private let deviceToken: String
  /// `production` unless given, `sandbox`, or `any`.
  private let environment: String?
  /// Bundle ID of the app, or `*` for any.
  private let topic: String
  private let reason: String?
  private let status: Int?
  private let timestamp: Int64?
  private let count: Int?

  func device() throws(ControlProblem) -> (token: String, device: SimulatedDevice) {
    guard let token = SimulatedDeviceToken.normalized(deviceToken) else {
      throw ControlProblem("deviceToken must be \(SimulatedDeviceToken.description)")
    }
    return (
      token,
      SimulatedDevice(
        environment: try place(), topic: topic == Self.anything ? nil : topic, reason: try refusal(),
        remaining: try Self.within(count, 1...Self.maxCount, "count"))
    )
  }

  private func place() throws(ControlProblem) -> SimulatedAPNsEnvironment? {
    switch environment ?? SimulatedAPNsEnvironment.production.rawValue {
    case "any": return nil
    case let name:
      guard let known = SimulatedAPNsEnvironment(rawValue: name) else {
        throw ControlProblem("environment must be production, sandbox or any")
      }
      return known
    }
  }

  private func refusal() throws(ControlProblem) -> APNsReason? {
    guard let reason else { return nil }
    let given = try Self.within(status, 400...599, "status")
    guard let status = given ?? APNsReason.statuses[reason] else {
      throw ControlProblem("reason \(reason) is not known; give its status too")
    }
    return APNsReason(name: reason, status: status, since: timestamp.map { UnixTime(milliseconds: $0) })
  }
}
