import CountersignTelemetry
import JobEngine
import ServiceRuntime

/// One entry of `lanes`: what all have in common, and what its type needs.
struct LaneSettings: Sendable {
  /// What the engine goes by: the name, the slots, the rate, the breaker.
  let lane: LaneConfiguration
  /// Certificates that the provider's must come from; the system's, if nil.
  let caFile: String?
  let provider: ProviderSettings

  /// Reads one entry. Problems are reported to the section.
  init(_ section: ConfigurationSection) {
    lane = LaneConfiguration(section)
    caFile = section.path("caFile", "Certificates (PEM) that the provider's must come from; the system's if absent.")
    provider = ProviderSettings(section)
  }
}

/// The part of a lane's configuration that belongs to its type.
enum ProviderSettings: Sendable {
  case apns(APNsSettings)
  case recaptcha(RecaptchaSettings)
  /// `type` is none of these; reported.
  case unknown

  private enum Kind: String, CaseIterable {
    case apns
    case enterprise = "recaptcha-enterprise"
    case v3 = "recaptcha-v3"
    case v2 = "recaptcha-v2"
  }

  init(_ section: ConfigurationSection) {
    let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
    let text = section.string("type", "What it is a way to: \(kinds).")
    switch Kind(rawValue: text) {
    case .apns: self = .apns(APNsSettings(section))
    case .enterprise: self = .recaptcha(RecaptchaSettings(enterprise: section))
    case .v3: self = .recaptcha(RecaptchaSettings(classic: section, hasScores: true))
    case .v2: self = .recaptcha(RecaptchaSettings(classic: section, hasScores: false))
    case nil:
      if !text.isEmpty { section.problem("type", "must be one of \(kinds)") }
      self = .unknown
    }
  }
}

/// A lane of type `apns`.
struct APNsSettings: Sendable, Hashable {
  let environment: APNsEnvironment
  let baseURL: String
  /// Connections at once.
  let connections: Int
  /// How long one try may take.
  let answerTimeout: Duration

  init(_ section: ConfigurationSection) {
    environment = section.word(
      "environment", default: .production, "The push service: production, or sandbox for apps signed for development.")
    baseURL = section.baseURL(default: environment.host, "Where the push service is.").withoutSlash
    connections = section.integer(
      "connections", default: 4, in: 1...64,
      "Connections at once. Apple lets one push at a time through on a connection that has just refused a token.")
    answerTimeout = section.seconds(
      "answerTimeoutSeconds", default: .seconds(3), in: .milliseconds(100) ... .seconds(60),
      "After so long without an answer a push is sent again on another connection.")
  }
}

/// A lane of reCAPTCHA.
struct RecaptchaSettings: Sendable {
  enum Account: Sendable {
    case enterprise(project: String, GoogleCredential)
    case classic(Secret)
  }

  let baseURL: String
  let account: Account
  /// Whether its keys give actions and scores.
  let hasScores: Bool

  var isEnterprise: Bool {
    if case .enterprise = account { true } else { false }
  }

  init(enterprise section: ConfigurationSection) {
    baseURL =
      section.baseURL(
        default: "https://recaptchaenterprise.googleapis.com", "Where reCAPTCHA Enterprise is."
      ).withoutSlash
    let project = section.string("project", "The Google Cloud project.")
    section.check(
      "project", project.isEmpty || project.isMatched(by: { $0.isLetterOrDigit || $0 == "-" }, length: 1...64),
      "must be the ID of a project: letters, digits and hyphens")
    account = .enterprise(project: project, GoogleCredential(section))
    hasScores = true
  }

  init(classic section: ConfigurationSection, hasScores: Bool) {
    baseURL = section.baseURL(default: "https://www.google.com", "Where siteverify is.").withoutSlash
    account = .classic(section.requiredSecretFile("secretFile", "The secret of the site."))
    self.hasScores = hasScores
  }
}

extension String {
  fileprivate var withoutSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}
