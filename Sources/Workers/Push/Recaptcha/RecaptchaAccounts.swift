import CountersignCryptography
import CountersignTelemetry
import HTTPClient
import JobEngine

/// The lanes to reCAPTCHA, made from the configuration.
struct RecaptchaAccounts: Sendable {
  private(set) var apps: [String: RecaptchaApp] = [:]
  private(set) var lanes: [any RecaptchaLane] = []
  private(set) var configurations: [LaneConfiguration] = []
  private(set) var transports: [HTTPClient] = []
  /// The access tokens of service accounts: one of each account in the process, whichever lanes use it.
  private(set) var tokens: [AccessTokens] = []
  private var tokensByAccount: [AccountKey: AccessTokens] = [:]

  /// What makes access tokens the same.
  private struct AccountKey: Hashable {
    let email: String
    let keyID: String?
    let tokenURL: String
    let caFile: String?
  }

  /// - Throws: when a file of certificates cannot be used.
  init(_ configuration: PushWorkerConfiguration, clocks: Clocks, log: Logger) throws(WorkerError) {
    for app in configuration.apps { apps[app.bundleID] = app.recaptcha }
    for entry in configuration.lanes {
      guard case .recaptcha(let settings) = entry.provider else { continue }
      let http = try Self.transport(entry)
      transports.append(http)
      configurations.append(entry.lane)
      let table = configuration.tables.recaptcha
      switch settings.account {
      case .classic(let secret):
        lanes.append(
          SiteverifyLane(
            name: entry.lane.name, baseURL: settings.baseURL, secret: secret, table: table, http: http,
            clock: clocks.wall))
      case .enterprise(let project, let credential):
        lanes.append(
          EnterpriseLane(
            name: entry.lane.name, baseURL: settings.baseURL, project: project,
            credential: try lane(credential, entry, configuration.tables.googleOAuth, clocks, log), table: table,
            http: http, clocks: clocks))
      }
    }
  }

  private mutating func lane(
    _ credential: GoogleCredential, _ entry: LaneSettings, _ table: ProviderTable, _ clocks: Clocks,
    _ log: Logger
  ) throws(WorkerError) -> EnterpriseLane.Credential {
    switch credential {
    case .apiKey(let key): return .apiKey(key)
    case .serviceAccount(let account, let tokenURL):
      let key = AccountKey(email: account.email, keyID: account.key.id, tokenURL: tokenURL, caFile: entry.caFile)
      if let known = tokensByAccount[key] { return .tokens(known) }
      let http = try Self.transport(entry, concurrency: 1)
      let endpoint = TokenEndpoint(account: account, url: tokenURL, table: table, http: http, clocks: clocks)
      let made = AccessTokens(clock: clocks.monotonic, log: log) { await endpoint.token(number: $0) }
      tokensByAccount[key] = made
      tokens.append(made)
      transports.append(http)
      return .tokens(made)
    case .invalid: preconditionFailure("a configuration that was reported as wrong is not used")
    }
  }

  static func transport(
    _ lane: LaneSettings, concurrency: Int? = nil
  ) throws(WorkerError) -> HTTPClient {
    let concurrency = concurrency ?? lane.lane.concurrency
    do {
      return try HTTPClient(
        HTTPClient.Configuration(
          maxConcurrent: concurrency, maxWaiting: concurrency, caFile: lane.caFile,
          userAgent: "countersign-push-worker"))
    } catch {
      throw WorkerError(.invalidConfiguration, "lane \(lane.lane.name): \(error)")
    }
  }
}
