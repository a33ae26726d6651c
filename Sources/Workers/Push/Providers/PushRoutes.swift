import CountersignMessages
import JobEngine

/// Each device token belongs to one of them.
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

/// It takes the pushes of one environment. Pushing the same receipt and secret twice must be harmless, since a job may be
/// delivered twice.
struct PushRoute: Sendable {
  let lane: any ProviderLane<SilentPush>
  let environment: DeviceEnvironment
}

struct PushRoutes: Sendable {
  private(set) var routes: [PushRoute] = []
  private(set) var configurations: [LaneConfiguration] = []
  /// By bundle ID, with the lanes added so far.
  private(set) var apps: [String: PushApp]

  var lanes: [any ProviderLane<SilentPush>] { routes.map(\.lane) }

  init(_ settings: [AppSettings]) {
    apps = settings.reduce(into: [:]) { apps, app in
      apps[app.bundleID] = app.push.map { PushApp(topic: $0.topic, payload: $0.payload) }
    }
  }

  mutating func add(_ route: PushRoute, _ configuration: LaneConfiguration, apps bundleIDs: [String]) {
    routes.append(route)
    configurations.append(configuration)
    for id in bundleIDs { apps[id]?.lanes[route.environment] = route.lane.name }
  }
}
