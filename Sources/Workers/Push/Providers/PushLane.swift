import CountersignMessages
import JobEngine

/// One way to devices: a push service with one credential.
///
/// Pushing the same receipt and secret twice must be harmless, since a job may be delivered twice.
protocol PushLane: Sendable {
  var name: String { get }

  var environment: DeviceEnvironment { get }

  /// Sends a push. It may send it again within the call.
  func push(_ push: SilentPush, _ attempt: JobAttempt) async -> Classification

  /// Asks whether the lane works again, as far as that shows without a push.
  func probe() async -> ProbeResult

  func shutdown() async
}

extension PushLane {
  func probe() async -> ProbeResult { .cannotTell }
}

/// Environment an app is signed for. Each device token belongs to one of them.
enum DeviceEnvironment: String, Sendable, Hashable, CaseIterable {
  case production, sandbox

  init?(_ environment: PushEnvironment) {
    switch environment {
    case .production: self = .production
    case .sandbox: self = .sandbox
    case .unknown: return nil
    }
  }
}

/// The lanes to devices, and the apps they serve.
struct PushRoutes: Sendable {
  private(set) var lanes: [any PushLane] = []
  private(set) var configurations: [LaneConfiguration] = []
  /// The apps that are pushed to, by bundle ID, with the lanes added so far.
  private(set) var apps: [String: PushApp]

  init(_ settings: [AppSettings]) {
    apps = settings.reduce(into: [:]) { apps, app in
      apps[app.bundleID] = app.push.map { PushApp(topic: $0.topic, payload: $0.payload) }
    }
  }

  mutating func add(_ lane: any PushLane, _ configuration: LaneConfiguration, apps bundleIDs: [String]) {
    lanes.append(lane)
    configurations.append(configuration)
    for id in bundleIDs { apps[id]?.lanes[lane.environment] = lane.name }
  }
}
