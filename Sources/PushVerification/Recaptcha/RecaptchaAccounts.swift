import CurlTransport
import Telemetry
import WorkerRuntime

/// The lanes to reCAPTCHA, made from the configuration.
struct RecaptchaAccounts: Sendable {
  private(set) var apps: [String: RecaptchaApp] = [:]
  private(set) var lanes: [any RecaptchaLane] = []
  private(set) var configurations: [LaneConfiguration] = []
  private(set) var transports: [CurlTransport] = []

  /// - Throws: when a file of certificates cannot be used.
  init(_ configuration: PushWorkerConfiguration, clock: any WallClock) throws(PushVerificationError) {
    for app in configuration.apps { apps[app.bundleID] = app.recaptcha }
    for entry in configuration.lanes {
      guard case .recaptcha(let settings) = entry.provider else { continue }
      let http = try Self.transport(entry)
      transports.append(http)
      configurations.append(entry.lane)
      lanes.append(Self.lane(entry.lane.name, settings, configuration.tables.recaptcha, http, clock))
    }
  }

  private static func lane(
    _ name: String, _ settings: RecaptchaSettings, _ table: ProviderTable, _ http: CurlTransport, _ clock: any WallClock
  ) -> any RecaptchaLane {
    switch settings.account {
    case .enterprise(let project, let apiKey):
      EnterpriseLane(
        name: name, baseURL: settings.baseURL, project: project, apiKey: apiKey, table: table, http: http, clock: clock)
    case .classic(let secret):
      SiteverifyLane(
        name: name, baseURL: settings.baseURL, secret: secret, table: table, http: http, clock: clock)
    }
  }

  private static func transport(_ lane: LaneSettings) throws(PushVerificationError) -> CurlTransport {
    do {
      return try CurlTransport(
        CurlTransport.Configuration(
          maxConcurrent: lane.lane.concurrency, maxWaiting: lane.lane.concurrency, caFile: lane.caFile,
          userAgent: "countersign-push-worker"))
    } catch {
      throw PushVerificationError(.invalidConfiguration, "lane \(lane.lane.name): \(error)")
    }
  }
}
