import CountersignTelemetry
import JobEngine
import ServiceRuntime

protocol RecaptchaProvider: PushProvider {
  /// The keys of the old check box give no actions and scores.
  var hasScores: Bool { get }
  var namesSiteKey: Bool { get }
}

enum RecaptchaTables {
  static let assessments = ProviderTables.Source("recaptcha")
  static let accessTokens = ProviderTables.Source("google-oauth")
}

struct EnterpriseProvider: RecaptchaProvider {
  static let typeName = "recaptcha-enterprise"
  static let tables = [RecaptchaTables.assessments, RecaptchaTables.accessTokens]

  let baseURL: String
  let project: String
  let credential: GoogleCredential

  var hasScores: Bool { true }
  var namesSiteKey: Bool { true }

  init(_ section: ConfigurationSection) {
    baseURL =
      LaneRequest.base(
        section.baseURL(
          default: "https://recaptchaenterprise.googleapis.com", "Address of reCAPTCHA Enterprise."))
    project = section.string("project", "The Google Cloud project.")
    section.check(
      "project", project.isEmpty || project.isMatched(by: { $0.isLetterOrDigit || $0 == "-" }, length: 1...64),
      "must be the ID of a project: letters, digits and hyphens")
    credential = GoogleCredential(section)
  }

  func makeLanes(
    _ entry: PushLaneSettings, _ context: PushLaneContext, in lanes: inout PushLanes
  ) throws(WorkerError) {
    let lane = EnterpriseLane(
      context: try entry.context(context), baseURL: baseURL, project: project,
      credential: try lanes.recaptcha.credential(credential, entry, context), monotonic: context.clocks.monotonic)
    lanes.recaptcha.add(lane, entry)
  }

  static func register(_ lanes: PushLanes, in metrics: MetricsRegistry) {
    let tokens = lanes.recaptcha.tokens
    metrics.counter(
      "countersign_push_access_tokens_total",
      "Access tokens obtained from Google for service accounts; each is valid for an hour."
    ) { Double(tokens.reduce(0) { $0 + $1.given }) }
    metrics.counter(
      "countersign_push_access_token_failures_total", "Failed requests for access tokens."
    ) { Double(tokens.reduce(0) { $0 + $1.failed }) }
  }
}

/// Lanes of type `recaptcha-v3`: the classic reCAPTCHA with scores.
struct RecaptchaV3Provider: ClassicRecaptchaProvider {
  static let typeName = "recaptcha-v3"

  let site: ClassicSite
  var hasScores: Bool { true }

  init(_ section: ConfigurationSection) { site = ClassicSite(section) }
}

/// Lanes of type `recaptcha-v2`: the classic reCAPTCHA with a check box.
struct RecaptchaV2Provider: ClassicRecaptchaProvider {
  static let typeName = "recaptcha-v2"

  let site: ClassicSite
  var hasScores: Bool { false }

  init(_ section: ConfigurationSection) { site = ClassicSite(section) }
}

struct ClassicSite: Sendable {
  let baseURL: String
  let secret: Secret

  init(_ section: ConfigurationSection) {
    baseURL = LaneRequest.base(section.baseURL(default: "https://www.google.com", "Address of siteverify."))
    secret = section.requiredSecretFile("secretFile", "The secret of the site.")
  }
}

protocol ClassicRecaptchaProvider: RecaptchaProvider {
  var site: ClassicSite { get }
}

extension ClassicRecaptchaProvider {
  static var tables: [ProviderTables.Source] { [RecaptchaTables.assessments] }

  /// The secret takes the place of the site key.
  var namesSiteKey: Bool { false }

  func makeLanes(
    _ entry: PushLaneSettings, _ context: PushLaneContext, in lanes: inout PushLanes
  ) throws(WorkerError) {
    let lane = SiteverifyLane(
      context: try entry.context(context), baseURL: site.baseURL, secret: site.secret)
    lanes.recaptcha.add(lane, entry)
  }
}
