public import CountersignTelemetry

/// Which assessments the simulated reCAPTCHA makes.
public struct RecaptchaSettings: Sendable {
  /// The project of reCAPTCHA Enterprise.
  public var project = "example-project"
  /// Its API key.
  public var apiKey = Secret("simulated-recaptcha-api-key")
  /// The key of its service account, as Google hands it out (JSON); without one no access token is given.
  public var serviceAccount: Secret?
  /// The keys of sites and apps: the key's ID, and the bundle ID of the app (or the host) that it belongs to.
  public var siteKeys: [String: String] = [:]
  /// Whether the project has SMS defense, so that an assessment with a phone number says how likely toll fraud is.
  public var assessesPhoneFraud = false
  /// The secret of `siteverify`.
  public var secret = Secret("simulated-recaptcha-secret")
  /// The host that `siteverify` says the challenge was solved on.
  public var hostname = "example.com"

  /// Settings with which every assessment fails, since there is no site key.
  public init() {}
}
