import CountersignCryptography
import CountersignEncoding
public import CountersignMessages
import CountersignTelemetry
public import JobEngine

/// Makes a `push.verify` job into a silent push and hands it to a lane.
///
/// A token whose environment the app does not know is tried in production first, where most devices are, and then in
/// the sandbox. The environment that took it is remembered.
public struct PushJobHandler: JobHandler {
  public typealias Body = PushVerifyJob
  public typealias Job = SilentPush

  private let apps: [String: PushApp]
  private let routes: [String: PushRoute]
  private let keys: KeyRing
  private let memory: PushMemory

  init(apps: [String: PushApp], routes: [PushRoute], keys: KeyRing, memory: PushMemory) {
    self.apps = apps
    self.routes = Dictionary(routes.map { ($0.lane.name, $0) }, uniquingKeysWith: { first, _ in first })
    self.keys = keys
    self.memory = memory
  }

  public func prepare(_ body: PushVerifyJob, of message: JobMessage) -> Preparation<SilentPush> {
    guard let app = apps[body.app] else { return .refused(Self.unknownApp) }
    guard let token = APNsDeviceToken.normalized(body.deviceToken) else { return .refused(Self.noToken) }
    guard !body.receipt.isEmpty else { return .refused(Self.noReceipt) }
    let names = Self.lanes(of: app, for: body.environment)
    guard !names.isEmpty else { return .refused(Self.noLane(body.environment)) }
    let context = SealContext(messageType: message.messageType, messageID: message.messageID, recipient: token)
    do throws(ContractProblem) {
      let secret = try body.secret.open(with: keys, for: context, field: "secret")
      guard let payload = Self.payload(app, receipt: body.receipt, secret) else { return .refused(Self.tooLarge) }
      let push = SilentPush(
        app: body.app, deviceToken: token, topic: app.topic, payload: payload, expiration: body.deadline,
        isEnvironmentStated: body.environment != .unknown)
      // Pushing again is harmless, so the sender need not allow it.
      return .ready(push, JobFacts(lanes: names, deadline: body.deadline, onUnknown: .resend))
    } catch {
      return .invalid(error)
    }
  }

  public func perform(_ push: SilentPush, on lane: String, _ attempt: JobAttempt) async -> Classification {
    guard let route = routes[lane] else {
      return .retry(Reason("UNKNOWN_LANE", "This worker has no such lane."))
    }
    guard !push.isEnvironmentStated else { return await route.lane.send(push, attempt) }
    // A token known to belong to the other environment is not tried here again.
    if let known = await memory.environment(of: push.deviceToken, app: push.app), known != route.environment {
      return .otherLane(Self.badToken(nil), extras: ["environment": .string(route.environment.rawValue)])
    }
    switch await route.lane.send(push, attempt) {
    case .accepted(let reference, let extras):
      await memory.remember(route.environment, of: push.deviceToken, app: push.app, at: attempt.startedAt)
      return .accepted(reference: reference, extras: extras)
    // If this is the last lane, both push services were asked, so the environment is not the reason.
    case .otherLane(let reason, let extras): return .otherLane(Self.badToken(reason.providerCode), extras: extras)
    case let other: return other
    }
  }

  public func probe(lane: String) async -> ProbeResult { await routes[lane]?.lane.probe() ?? .cannotTell }

  private static func lanes(of app: PushApp, for environment: PushEnvironment) -> [String] {
    guard let stated = DeviceEnvironment(environment) else {
      return [DeviceEnvironment.production, .sandbox].compactMap { app.lanes[$0] }
    }
    return app.lanes[stated].map { [$0] } ?? []
  }

  private static func payload(_ app: PushApp, receipt: String, _ secret: Secret) -> [UInt8]? {
    let payload = app.payload.json(receipt: receipt, secret: secret)
    return payload.count <= PushPayload.maxBytes ? payload : nil
  }

  private static let unknownApp = Reason("UNKNOWN_APP", "This worker is not configured to push to this app.")
  private static let noToken = Reason(
    "BAD_DEVICE_TOKEN", "The device token is not an even number of hexadecimal digits.")
  private static let noReceipt = Reason("INVALID_RECEIPT", "The receipt is empty.")
  private static let tooLarge = Reason("PAYLOAD_TOO_LARGE", "Receipt and secret are too long for a push.")

  private static func noLane(_ environment: PushEnvironment) -> Reason {
    Reason("NO_LANE", "This worker has no lane to the push service of this environment (\(environment.rawValue)).")
  }

  private static func badToken(_ providerCode: String?) -> Reason {
    Reason(
      "BAD_DEVICE_TOKEN", "No push service accepts the device token: it does not belong to this app.",
      providerCode: providerCode)
  }
}

/// An app that is pushed to.
public struct PushApp: Sendable {
  /// The bundle ID, most often.
  let topic: String
  let payload: PushPayload
  var lanes: [DeviceEnvironment: String] = [:]
}

/// A push that was checked and is ready to be sent.
///
/// It holds a device token and a secret: it does not print.
public struct SilentPush: Sendable, Hashable {
  let app: String
  /// In lower case.
  let deviceToken: String
  let topic: String
  let payload: [UInt8]
  let expiration: UnixTime
  let isEnvironmentStated: Bool
}

extension SilentPush: CustomStringConvertible, CustomReflectable {
  public var description: String { "<push, \(payload.count) bytes>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Apple asks not to rely on its length, which has been 32 bytes so far.
enum APNsDeviceToken {
  static let maxBytes = 200

  static func normalized(_ text: String) -> String? {
    let digits = Array(text.utf8)
    guard !digits.isEmpty, digits.count <= 2 * maxBytes, digits.count.isMultiple(of: 2),
      digits.allSatisfy({ Hexadecimal.value(of: $0) != nil })
    else { return nil }
    return text.lowercased()
  }
}
