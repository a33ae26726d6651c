/// How an app's tokens are assessed.
public struct RecaptchaApp: Sendable {
  /// The name of the lane.
  let lane: String
  /// The key that the app gets its tokens with.
  let siteKey: String
  let rules: AssessmentRules
}
