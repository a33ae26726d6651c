import CountersignCryptography
public import CountersignMessages
import CountersignTelemetry
public import JobEngine

/// Makes a `push.verify` job into a silent push and hands it to a lane.
///
/// A token of which the app does not know the environment is tried in production first, since that is where most devices are, and then in
/// the sandbox. What came of it is remembered.
public struct PushJobHandler: JobHandler {
  public typealias Body = PushVerifyJob
  public typealias Job = SilentPush

  private let apps: [String: PushApp]
  private let lanes: [String: APNsLane]
  private let keys: KeyRing
  private let memory: any EnvironmentMemory

  /// - Parameters:
  ///   - apps: By bundle ID.
  ///   - lanes: Their names differ.
  ///   - keys: Opens sealed secrets; with an empty one a sealed secret is a dead letter.
  ///   - memory: Remembers environments.
  init(apps: [String: PushApp], lanes: [APNsLane], keys: KeyRing, memory: any EnvironmentMemory) {
    self.apps = apps
    self.lanes = Dictionary(lanes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    self.keys = keys
    self.memory = memory
  }

  public func prepare(_ body: PushVerifyJob, of message: JobMessage) -> Preparation<SilentPush> {
    guard let app = apps[body.app] else { return .refused(Self.unknownApp) }
    guard let token = DeviceToken.normalized(body.deviceToken) else { return .refused(Self.noToken) }
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
      // To push it again is harmless, so nobody has to be asked whether it is.
      return .ready(PreparedJob(push, lanes: names, deadline: body.deadline, onUnknown: .resend))
    } catch {
      return .invalid(error)
    }
  }

  public func perform(_ push: SilentPush, on lane: String, _ attempt: JobAttempt) async -> Classification {
    guard let lane = lanes[lane] else {
      return .retry(Reason("UNKNOWN_LANE", "This worker has no such lane."))
    }
    guard !push.isEnvironmentStated else { return await lane.push(push, attempt) }
    // A token that is known to belong elsewhere is not tried here again.
    if let known = await memory.environment(of: push.deviceToken, app: push.app), known != lane.environment {
      return .otherLane(Self.badToken(nil), extras: ["environment": .string(lane.environment.rawValue)])
    }
    switch await lane.push(push, attempt) {
    case .accepted(let reference, let extras):
      await memory.remember(lane.environment, of: push.deviceToken, app: push.app, at: attempt.startedAt)
      return .accepted(reference: reference, extras: extras)
    // Both push services have been asked when this is the last one's answer, so it is not the environment.
    case .otherLane(let reason, let extras): return .otherLane(Self.badToken(reason.providerCode), extras: extras)
    case let other: return other
    }
  }

  private static func lanes(of app: PushApp, for environment: PushEnvironment) -> [String] {
    guard let stated = APNsEnvironment(environment) else {
      return [APNsEnvironment.production, .sandbox].compactMap { app.lanes[$0] }
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
      "BAD_DEVICE_TOKEN", "No push service knows the device token: it is not one of this app.",
      providerCode: providerCode)
  }
}
