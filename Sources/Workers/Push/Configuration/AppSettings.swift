import JobEngine
import ServiceRuntime

/// One entry of `apps`.
struct AppSettings: Sendable {
  let bundleID: String
  /// nil: it is not pushed to.
  let push: PushSettings?
  /// nil: its tokens are not assessed.
  let recaptcha: RecaptchaApp?

  init(bundleID: String, _ section: ConfigurationSection, lanes: [LaneSettings]) {
    self.bundleID = bundleID
    push = section.optionalSection("push").map { PushSettings($0, bundleID: bundleID) }
    recaptcha = section.optionalSection("recaptcha").map { RecaptchaApp($0, bundleID: bundleID, lanes: lanes) }
    if push == nil, recaptcha == nil {
      section.problem("push", "is missing, and so is recaptcha: give one of them or both")
    }
    let hasLane = lanes.contains { if case .apns = $0.provider { true } else { false } }
    section.check("push", push == nil || hasLane, "is of no use: lanes has none of type apns")
  }
}

/// How an app is pushed to: the section `push` of an app.
struct PushSettings: Sendable {
  let credential: CredentialSettings
  let topic: String
  let payload: PushPayload

  init(_ section: ConfigurationSection, bundleID: String) {
    credential = CredentialSettings(section)
    topic = section.string("topic", default: bundleID, "What Apple knows the app by; the bundle ID.")
    section.check("topic", Self.isHeaderText(topic), "must be visible ASCII characters")
    let key = section.string(
      "payloadKey", default: PushPayload.defaultKey,
      "The key of receipt and secret in the push, by which the app's SDK finds them.")
    section.check("payloadKey", !key.isEmpty && key != "aps", "must not be empty, nor \"aps\", which is Apple's")
    payload = PushPayload(
      key: key,
      form: section.word(
        "payloadForm", default: .object,
        "object: receipt and secret stand under the key; string: their JSON does, as text."))
  }

  private static func isHeaderText(_ text: String) -> Bool {
    (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}

extension RecaptchaApp {
  /// The section `recaptcha` of an app.
  init(_ section: ConfigurationSection, bundleID: String, lanes: [LaneSettings]) {
    let candidates = lanes.compactMap { lane -> (name: String, settings: RecaptchaSettings)? in
      if case .recaptcha(let settings) = lane.provider { (lane.lane.name, settings) } else { nil }
    }
    let name = section.string(
      "lane", default: candidates.first?.name ?? "",
      "The lane of reCAPTCHA that assesses the app's tokens; the first one.")
    let lane = candidates.first { $0.name == name }
    if lane == nil { section.problem("lane", "is the name of no lane of reCAPTCHA in lanes") }
    var rules = AssessmentRules(bundleID: bundleID)
    rules.hasScores = lane?.settings.hasScores ?? true
    rules.minimumScore = section.number(
      "minimumScore", default: rules.minimumScore, in: 0...1, "A lower score is refused.")
    rules.maximumTollFraudRisk = section.number(
      "maximumTollFraudRisk", default: rules.maximumTollFraudRisk, in: 0...1, "A higher risk of toll fraud is refused.")
    rules.hosts = Set(section.strings("hosts", "Hosts of pages on which tokens for the app may be made."))
    rules.androidPackages = Set(section.strings("androidPackages", "Packages of the app on Android."))
    self.init(lane: name, siteKey: Self.siteKey(section, lane?.settings), rules: rules)
  }

  private static func siteKey(_ section: ConfigurationSection, _ settings: RecaptchaSettings?) -> String {
    let help = "The key with which the app gets its tokens."
    let key =
      settings?.isEnterprise == false ? section.string("siteKey", default: "", help) : section.string("siteKey", help)
    section.check(
      "siteKey", key.isMatched(by: { $0.isLetterOrDigit || "-_".unicodeScalars.contains($0) }, length: 0...128),
      "must be letters, digits, hyphens and underscores")
    return key
  }
}
