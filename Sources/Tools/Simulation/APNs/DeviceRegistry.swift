import CountersignEncoding
import CountersignTelemetry
import Synchronization

/// Apple does not know any other token.
final class DeviceRegistry: Sendable {
  static let maxDevices = 200_000

  private struct Device: Sendable {
    /// `nil` means both, which no real token is.
    let environment: SimulatedAPNsEnvironment?
    /// `nil` means any, which no real token is.
    let topic: String?
    let reason: ProviderError?
    /// `nil` means all.
    var remaining: Int?
  }

  private let devices = Mutex(RecentMap<String, Device>(capacity: DeviceRegistry.maxDevices))

  /// Replaces an earlier registration of the token. Returns it as JSON.
  func add(_ order: DeviceOrder) -> String {
    let token = SimulatedDeviceToken.normalized(order.deviceToken) ?? ""
    let device = Device(
      environment: order.place, topic: order.app, reason: order.refusal, remaining: order.count)
    devices.withLock { $0[token] = device }
    return """
      {"deviceToken":"\(token)","environment":\(JSONString.quote(device.environment?.rawValue)),\
      "topic":\(JSONString.quote(device.topic)),"reason":\(JSONString.quote(device.reason?.code)),\
      "remaining":\(device.remaining.map(String.init) ?? "null")}
      """
  }

  func clear() { devices.withLock { $0.removeAll() } }

  func check(
    _ token: String, _ environment: SimulatedAPNsEnvironment, topic: String, now: UnixTime
  ) throws(ProviderError) {
    try devices.withLock { devices throws(ProviderError) in
      guard var device = devices[token] else { throw .apns("BadDeviceToken") }
      guard device.environment ?? environment == environment else { throw .apns("BadDeviceToken") }
      guard device.topic ?? topic == topic else { throw .apns("DeviceTokenNotForTopic") }
      guard var reason = device.reason, device.remaining != 0 else { return }
      device.remaining? -= 1
      devices[token] = device
      if reason.status == 410, reason.detail == nil { reason.detail = String(now.milliseconds) }
      throw reason
    }
  }
}

/// Body of `POST /control/devices`.
struct DeviceOrder: ControlOrder {
  static let fields: Set<String> = ["deviceToken", "environment", "topic", "reason", "status", "timestamp", "count"]

  let deviceToken: String
  /// `production` unless given, `sandbox`, or `any`.
  private let environment: String?
  /// Bundle ID of the app, or `*` for any.
  private let topic: String
  private let reason: String?
  private let status: Int?
  private let timestamp: Int64?
  let count: Int?

  func check() throws(ControlProblem) {
    guard SimulatedDeviceToken.normalized(deviceToken) != nil else {
      throw ControlProblem("deviceToken must be \(SimulatedDeviceToken.description)")
    }
    try Self.require(environment, among: ["production", "sandbox", "any"], "environment")
    try Self.require(status, in: 400...599, "status")
    if let reason, status == nil, ProviderError.apnsStatuses[reason] == nil {
      throw ControlProblem("reason \(reason) is not known; give its status too")
    }
    try Self.require(count, in: 1...10_000_000, "count")
  }

  var place: SimulatedAPNsEnvironment? { SimulatedAPNsEnvironment(rawValue: environment ?? "production") }

  var app: String? { topic == "*" ? nil : topic }

  var refusal: ProviderError? {
    reason.map { reason in
      ProviderError(
        reason, status: status ?? ProviderError.apnsStatuses[reason] ?? 400, detail: timestamp.map { String($0) })
    }
  }
}

/// A device token belongs to one of the two.
enum SimulatedAPNsEnvironment: String, Sendable, Decodable {
  case production
  case sandbox

  /// Environment of a host: `api.sandbox.push…` and `api.development.push…` are the sandbox, with any suffix.
  init(host: String) {
    let labels = host.lowercased().split(separator: ".")
    self = labels.contains("sandbox") || labels.contains("development") ? .sandbox : .production
  }
}

/// In practice 32 bytes, although Apple asks not to rely on their length.
enum SimulatedDeviceToken {
  private static let hexDigits = 64...200
  static let description = "an even number of hexadecimal digits, \(hexDigits.lowerBound) to \(hexDigits.upperBound)"

  /// In lower case. `nil` if it is not a token.
  static func normalized(_ text: some StringProtocol) -> String? {
    let isToken =
      hexDigits.contains(text.utf8.count) && text.utf8.count % 2 == 0
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
      }
    return isToken ? text.lowercased() : nil
  }
}
