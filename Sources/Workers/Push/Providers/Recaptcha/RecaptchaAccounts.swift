import CountersignCryptography
import CountersignTelemetry
import HTTPClient
import JobEngine
import ServiceRuntime

struct RecaptchaAccounts: Sendable {
  let apps: [String: RecaptchaApp]
  private(set) var lanes: [any ProviderLane<AssessmentCall>] = []
  private(set) var configurations: [LaneConfiguration] = []
  /// One source for each account in the process, whichever lanes use it.
  private(set) var tokens: [AccessTokens] = []
  private var tokensByAccount: [AccountKey: AccessTokens] = [:]
  private var tokenClients: [HTTPClient] = []

  private struct AccountKey: Hashable {
    let email: String
    let keyID: String?
    let tokenURL: String
    let caFile: String?
  }

  init(_ settings: [AppSettings]) {
    apps = settings.reduce(into: [:]) { $0[$1.bundleID] = $1.recaptcha }
  }

  mutating func add(_ lane: some RecaptchaLane, _ entry: PushLaneSettings) {
    lanes.append(lane)
    configurations.append(entry.lane)
  }

  func shutdown() async {
    for lane in lanes { await lane.shutdown() }
    for client in tokenClients { await client.shutdown() }
    for source in tokens { await source.shutdown() }
  }

  /// Lanes of one service account share its tokens.
  mutating func credential(
    _ settings: GoogleCredential, _ entry: PushLaneSettings, _ context: PushLaneContext
  ) throws(WorkerError) -> EnterpriseLane.Credential {
    switch settings {
    case .apiKey(let key): return .apiKey(key)
    case .serviceAccount(let account, let tokenURL):
      let key = AccountKey(email: account.email, keyID: account.key.id, tokenURL: tokenURL, caFile: entry.caFile)
      if let known = tokensByAccount[key] { return .tokens(known) }
      let client = try entry.client(of: PushVerifier.program, concurrency: 1)
      tokenClients.append(client)
      let endpoint = TokenEndpoint(
        account: account, url: tokenURL, table: context.tables[RecaptchaTables.accessTokens], http: client,
        clocks: context.clocks)
      let made = AccessTokens(clock: context.clocks.monotonic, logger: context.logger) {
        await endpoint.token(number: $0)
      }
      tokensByAccount[key] = made
      tokens.append(made)
      return .tokens(made)
    case .invalid: preconditionFailure("a configuration with a reported problem is not used")
    }
  }
}

/// Rules by which the tokens of an app are assessed: the section `recaptcha` of an app.
public struct RecaptchaApp: Sendable {
  let lane: String
  let siteKey: String
  let rules: AssessmentRules
}

extension RecaptchaApp {
  init(_ section: ConfigurationSection, bundleID: String, lanes: [PushLaneSettings]) {
    let candidates = lanes.compactMap { lane -> (name: String, provider: any RecaptchaProvider)? in
      (lane.provider as? any RecaptchaProvider).map { (lane.lane.name, $0) }
    }
    let name = section.string(
      "lane", default: candidates.first?.name ?? "",
      "The lane of reCAPTCHA that assesses the app's tokens; the first one.")
    let provider = candidates.first { $0.name == name }?.provider
    if provider == nil { section.problem("lane", "is not the name of a lane of reCAPTCHA in lanes") }
    var rules = AssessmentRules(bundleID: bundleID)
    rules.hasScores = provider?.hasScores ?? true
    rules.minScore = section.number(
      "minimumScore", default: rules.minScore, in: 0...1, "A lower score is refused.")
    rules.maxTollFraudRisk = section.number(
      "maximumTollFraudRisk", default: rules.maxTollFraudRisk, in: 0...1, "A higher risk of toll fraud is refused.")
    rules.hosts = Set(section.strings("hosts", "Hosts of pages on which tokens for the app may be made."))
    rules.androidPackages = Set(section.strings("androidPackages", "Packages of the app on Android."))
    self.init(lane: name, siteKey: Self.siteKey(section, isRequired: provider?.namesSiteKey ?? true), rules: rules)
  }

  private static func siteKey(_ section: ConfigurationSection, isRequired: Bool) -> String {
    let help = "The key with which the app gets its tokens."
    let key = isRequired ? section.string("siteKey", help) : section.string("siteKey", default: "", help)
    section.check(
      "siteKey", key.isMatched(by: { $0.isLetterOrDigit || "-_".unicodeScalars.contains($0) }, length: 0...128),
      "must be letters, digits, hyphens and underscores")
    return key
  }
}
