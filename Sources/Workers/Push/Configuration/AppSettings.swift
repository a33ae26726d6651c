import JobEngine
import ServiceRuntime

struct AppSettings: Sendable {
  let bundleID: String
  /// `nil` for an app that is not pushed to.
  let push: PushSettings?
  /// `nil` for an app whose tokens are not assessed.
  let recaptcha: RecaptchaApp?

  init(bundleID: String, _ section: ConfigurationSection, lanes: [PushLaneSettings], providers: [any PushProvider.Type])
  {
    self.bundleID = bundleID
    push = section.optionalSection("push").map { PushSettings($0, bundleID: bundleID) }
    recaptcha = section.optionalSection("recaptcha").map { RecaptchaApp($0, bundleID: bundleID, lanes: lanes) }
    if push == nil, recaptcha == nil {
      section.problem("push", "is missing, and so is recaptcha: give one of them or both")
    }
    let hasLane = lanes.contains { $0.provider.map { type(of: $0).pushes } ?? false }
    let types = providers.filter { $0.pushes }.map { $0.typeName }.joined(separator: " or ")
    section.check("push", push == nil || hasLane, "has no effect: lanes has none of type \(types)")
  }
}
