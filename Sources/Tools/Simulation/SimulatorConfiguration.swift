public import CountersignTelemetry
public import ServiceRuntime

/// Configuration of the executable. `Config/simulator.json5` explains each key.
public struct SimulatorConfiguration: Configuration {
  /// Minimum level of logged events.
  public let logLevel: LogLevel
  /// Format of the log.
  public let logFormat: LogFormat
  /// Settings of the simulator.
  public let settings: SimulatorSettings

  /// Reads the configuration.
  public init(_ section: ConfigurationSection) {
    let logging = section.section("log")
    logLevel = logging.word("level", default: .info, "Events below it are not logged.")
    logFormat = logging.word("format", default: .text, "text for people, json for machines.")
    var settings = SimulatorSettings()
    let http = section.section("http")
    settings.host = http.string("host", default: settings.host, "The address to listen on.")
    settings.port = UInt16(
      http.integer(
        "port", default: 8090, in: 0...65_535, "The port to listen on; 0 for any free one."))
    let twilio = section.section("twilio")
    settings.accountSID = twilio.string("accountSID", default: settings.accountSID, "The account that may send.")
    twilio.read(&settings.authToken, "authTokenFile", "The file with the account's auth token.")
    settings.apiKeySID = twilio.string(
      "apiKeySID", default: settings.apiKeySID, "An API key of the account, which may send as well.")
    twilio.read(&settings.apiKeySecret, "apiKeySecretFile", "The file with the API key's secret.")
    settings.allowsLocalCallbacks = section.bool(
      "allowLocalCallbacks", default: settings.allowsLocalCallbacks,
      "Whether addresses of this machine and of private networks are accepted for reports; real providers refuse them.")
    let webhook = section.section("webhook")
    webhook.read(
      &settings.webhookSecret, "secretFile", "The file with the secrets of the webhook, whsec_…, one a line.")
    settings.timestampTolerance = webhook.seconds(
      "timestampToleranceSeconds", default: settings.timestampTolerance, in: .seconds(1)...(.seconds(86_400)),
      "Maximum difference of a webhook's timestamp from the current time.")
    settings.vonage.read(section.section("vonage"))
    settings.messageBird.read(section.section("messagebird"))
    settings.aws.read(section.section("aws"))
    settings.smpp = SMPPServerSettings(section.section("smpp"))
    settings.maxMessages = section.integer(
      "maxMessages", default: settings.maxMessages, in: 1...10_000_000,
      "Maximum number of messages kept, and of pushes and revocations; the oldest are forgotten.")
    settings.apns.read(section.section("apns"))
    settings.recaptcha.read(section.section("recaptcha"))
    settings.appleID.read(section.section("appleID"))
    self.settings = settings
  }
}
