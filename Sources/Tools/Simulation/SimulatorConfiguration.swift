public import CountersignTelemetry
public import ServiceRuntime

/// The configuration of the executable; `Config/simulator.json5` explains each key.
public struct SimulatorConfiguration: Configuration {
  /// Events below it are not logged.
  public let logLevel: LogLevel
  /// How the log is written.
  public let logFormat: LogFormat
  /// What the simulator is made with.
  public let settings: SimulatorSettings

  /// Reads the configuration.
  public init(_ section: ConfigurationSection) {
    let log = section.section("log")
    logLevel = log.word("level", default: .info, "Events below it are not logged.")
    logFormat = log.word("format", default: .text, "text for people, json for machines.")
    var settings = SimulatorSettings()
    let http = section.section("http")
    settings.host = http.string("host", default: settings.host, "The address on which everything is served.")
    settings.port = UInt16(
      http.integer(
        "port", default: 8090, in: 0...65_535, "The port on which everything is served; 0 for any that is free."))
    let twilio = section.section("twilio")
    settings.accountSID = twilio.string("accountSID", default: settings.accountSID, "The account that may send.")
    if let token = twilio.secretFile("authTokenFile", "The file with the account's auth token.") {
      settings.authToken = token
    }
    settings.apiKeySID = twilio.string(
      "apiKeySID", default: settings.apiKeySID, "An API key of the account, which may send as well.")
    if let secret = twilio.secretFile("apiKeySecretFile", "The file with the API key's secret.") {
      settings.apiKeySecret = secret
    }
    settings.allowsLocalCallbacks = section.bool(
      "allowLocalCallbacks", default: settings.allowsLocalCallbacks,
      "Whether addresses of this machine and of private networks are taken for reports, as no real provider does.")
    let webhook = section.section("webhook")
    if let secret = webhook.secretFile("secretFile", "The file with the secrets of the webhook, whsec_…, one a line.") {
      settings.webhookSecret = secret
    }
    settings.timestampTolerance = webhook.seconds(
      "timestampToleranceSeconds", default: settings.timestampTolerance, in: .seconds(1)...(.seconds(86_400)),
      "How far the timestamp of a webhook may be from the time here.")
    settings.vonage.read(section.section("vonage"))
    settings.messageBird.read(section.section("messagebird"))
    settings.aws.read(section.section("aws"))
    settings.smpp = SMPPServerSettings(section.section("smpp"))
    settings.maxMessages = section.integer(
      "maxMessages", default: settings.maxMessages, in: 1...10_000_000,
      "Messages that are kept, and as many pushes and revocations; the oldest go.")
    settings.apns.read(section.section("apns"))
    settings.recaptcha.read(section.section("recaptcha"))
    settings.appleID.read(section.section("appleID"))
    self.settings = settings
  }
}
