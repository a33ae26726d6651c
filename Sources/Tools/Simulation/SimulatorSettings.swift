package import CountersignTelemetry
import ServiceRuntime

/// Accounts, keys and limits of a simulator: those of tests, which fit one another, until a configuration is read.
package struct SimulatorSettings: Sendable {
  package var host = "127.0.0.1"
  /// Port. 0 for any free one.
  package var port: UInt16 = 0
  package var accountSID = "AC00000000000000000000000000000001"
  package var authToken = Secret("simulated-auth-token")
  package var apiKeySID = "SK00000000000000000000000000000001"
  package var apiKeySecret = Secret("simulated-api-key-secret")
  package var allowsLocalCallbacks = false
  /// Secrets of the webhook, `whsec_…`, any of which may sign. Separated by white space.
  package var webhookSecret = Secret("whsec_c2ltdWxhdGVkLXdlYmhvb2stc2VjcmV0")
  package var timestampTolerance = Duration.seconds(300)
  package var vonage = SimulatedVonageSettings()
  package var messageBird = SimulatedMessageBirdSettings()
  package var aws = AWSMessagingSettings()
  /// SMPP server. `nil` means none.
  package var smpp: SMPPServerSettings?
  /// Maximum number of messages kept. One takes about 400 bytes.
  package var maxMessages = 200_000
  package var apns = SimulatedAPNsSettings()
  package var recaptcha = SimulatedRecaptchaSettings()
  package var appleID = AppleIDSettings()
  package var facebook = FacebookSettings()
  package var pages = PageSettings()

  package init() {}

  mutating func read(_ section: ConfigurationSection) {
    let http = section.section("http")
    host = http.string("host", default: host, "The address to listen on.")
    port = UInt16(http.integer("port", default: 8090, in: 0...65_535, "The port to listen on; 0 for any free one."))
    let twilio = section.section("twilio")
    accountSID = twilio.string("accountSID", default: accountSID, "The account that may send.")
    twilio.read(&authToken, "authTokenFile", "The file with the account's auth token.")
    apiKeySID = twilio.string(
      "apiKeySID", default: apiKeySID, "An API key of the account, which may send as well.")
    twilio.read(&apiKeySecret, "apiKeySecretFile", "The file with the API key's secret.")
    allowsLocalCallbacks = section.bool(
      "allowLocalCallbacks", default: allowsLocalCallbacks,
      "Whether addresses of this machine and of private networks are accepted for reports; real providers refuse them.")
    let webhook = section.section("webhook")
    webhook.read(&webhookSecret, "secretFile", "The file with the secrets of the webhook, whsec_…, one a line.")
    timestampTolerance = webhook.seconds(
      "timestampToleranceSeconds", default: timestampTolerance, in: .seconds(1)...(.seconds(86_400)),
      "Maximum difference of a webhook's timestamp from the current time.")
    vonage.read(section.section("vonage"))
    messageBird.read(section.section("messagebird"))
    aws.read(section.section("aws"))
    smpp = SMPPServerSettings(section.section("smpp"))
    maxMessages = section.integer(
      "maxMessages", default: maxMessages, in: 1...10_000_000,
      "Maximum number of messages kept, and of pushes, revocations and mails; the oldest are forgotten.")
    apns.read(section.section("apns"))
    recaptcha.read(section.section("recaptcha"))
    appleID.read(section.section("appleID"))
    facebook.read(section.section("facebook"))
    pages.read(section.section("pages"))
  }
}

/// Simulated account at Vonage.
package struct SimulatedVonageSettings: Sendable {
  package var apiKey = "abcd1234"
  package var apiSecret = Secret("simulated-api-secret")
  package var signatureSecret = Secret("simulated-signature-secret")

  fileprivate mutating func read(_ section: ConfigurationSection) {
    apiKey = section.string("apiKey", default: apiKey, "The account that may send.")
    section.read(&apiSecret, "apiSecretFile", "The file with the account's API secret.")
    section.read(&signatureSecret, "signatureSecretFile", "The file with the secret that signs delivery reports.")
  }
}

/// Simulated account at MessageBird.
package struct SimulatedMessageBirdSettings: Sendable {
  package var accessKey = Secret("live_simulated_access_key")
  package var signingKey = Secret("simulated-signing-key")

  fileprivate mutating func read(_ section: ConfigurationSection) {
    section.read(&accessKey, "accessKeyFile", "The file with the account's access key.")
    section.read(&signingKey, "signingKeyFile", "The file with the key that signs status reports.")
  }
}

/// Simulated account at AWS End User Messaging.
package struct AWSMessagingSettings: Sendable {
  package var accessKeyID = "AKIDSIMULATED00001"
  package var secretKey = Secret("simulated-secret-access-key")
  /// Session token that a temporary access key requires.
  package var sessionToken: Secret?
  package var region = "eu-central-1"
  package var originationIdentities: Set<String> = ["Example", "+15005550006"]

  fileprivate mutating func read(_ section: ConfigurationSection) {
    accessKeyID = section.string("accessKeyID", default: accessKeyID, "The ID of the access key.")
    section.read(&secretKey, "secretKeyFile", "The file with the secret access key.")
    sessionToken = section.secretFile("sessionTokenFile", "The file with the session token of a temporary key.")
    region = section.string("region", default: region, "The region that requests must be signed for.")
    let names = section.strings("originationIdentities", "The account's numbers, sender IDs and pools.")
    if !names.isEmpty { originationIdentities = Set(names) }
  }
}

/// Simulated SMPP 3.4 server with one account.
package struct SMPPServerSettings: Sendable {
  /// Port. 0 for any free one.
  package var port: UInt16 = 0
  package var systemID = "simulated"
  package var password = Secret("password")
  package var systemType = ""
  package var window = 100
  /// Maximum number of submissions a second. Further ones are throttled.
  package var ratePerSecond: Int?

  package init() {}

  fileprivate init?(_ section: ConfigurationSection) {
    port = UInt16(
      section.integer("port", default: 0, in: 0...65_535, "The port of the SMPP server; 0 means no server."))
    systemID = section.string("systemID", default: systemID, "The name of the account.")
    section.read(&password, "passwordFile", "The file with its password, at most 8 bytes.")
    systemType = section.string("systemType", default: systemType, "The required system_type.")
    window = section.integer(
      "window", default: window, in: 1...10_000, "Submissions of a session in progress at once; more are throttled.")
    let rate = section.integer(
      "ratePerSecond", default: 0, in: 0...1_000_000, "Submissions a second, more are throttled; 0 means no limit.")
    ratePerSecond = rate == 0 ? nil : rate
    section.check(
      "passwordFile", password.reveal().utf8.count <= 8,
      "holds a password of more than the 8 bytes that SMPP 3.4 allows")
    if port == 0 { return nil }
  }
}

/// Team, keys and apps of the simulated APNs. Without keys it refuses every push.
package struct SimulatedAPNsSettings: Sendable {
  package var teamID = "EXAMPLE001"
  /// Keys of the team (P-256, PEM) by key ID. Either half will do.
  package var keys: [String: Secret] = [:]
  /// Apps of the team, by bundle ID.
  package var topics: Set<String> = []

  fileprivate mutating func read(_ section: ConfigurationSection) {
    teamID = section.string("teamID", default: teamID, "The team that may send.")
    keys = section.tokenKeys("Its keys for pushes, by key ID.")
    topics = Set(section.strings("topics", "The apps of the team: their bundle IDs."))
  }
}

/// Clients that the simulated Apple ID service knows. Without clients it refuses every request.
package struct AppleIDSettings: Sendable {
  /// Team of the clients: `iss` of a client secret.
  package var teamID = "EXAMPLE001"
  /// Keys of the team (P-256, PEM) by key ID. Either half will do.
  package var keys: [String: Secret] = [:]
  /// Bundle IDs and Services IDs: `sub` of a client secret.
  package var clientIDs: Set<String> = []
  /// `aud` of a client secret.
  package var audience = "https://appleid.apple.com"

  fileprivate mutating func read(_ section: ConfigurationSection) {
    teamID = section.string("teamID", default: teamID, "The team of the clients.")
    keys = section.tokenKeys("Its keys for Sign in with Apple, by key ID.")
    clientIDs = Set(section.strings("clientIDs", "The clients: bundle IDs and Services IDs."))
    audience = section.string("audience", default: audience, "The audience of client secrets.")
  }
}

/// App that the simulated Facebook knows.
package struct FacebookSettings: Sendable {
  package var appID = "1234567890123456"
  package var appSecret = Secret("simulated-facebook-app-secret")

  fileprivate mutating func read(_ section: ConfigurationSection) {
    appID = section.string("appID", default: appID, "The app whose secret is checked.")
    section.read(&appSecret, "appSecretFile", "The file with the app's secret.")
  }
}

/// Project and keys of the simulated reCAPTCHA. Without site keys every assessment fails.
package struct SimulatedRecaptchaSettings: Sendable {
  package var project = "example-project"
  package var apiKey = Secret("simulated-recaptcha-api-key")
  /// Key file of the service account, as Google issues it (JSON). Without one no access token is issued.
  package var serviceAccount: Secret?
  package var siteKeys: [String: String] = [:]
  package var assessesPhoneFraud = false
  package var secret = Secret("simulated-recaptcha-secret")
  package var hostname = "example.com"

  fileprivate mutating func read(_ section: ConfigurationSection) {
    project = section.string("project", default: project, "The project of reCAPTCHA Enterprise.")
    section.read(&apiKey, "apiKeyFile", "The file with the project's API key.")
    serviceAccount = section.secretFile(
      "serviceAccountFile", "The file with the key of the project's service account (JSON).")
    assessesPhoneFraud = section.bool(
      "assessesPhoneFraud", default: assessesPhoneFraud,
      "Whether the project has SMS defense: assessments with a phone number have the risk of toll fraud.")
    siteKeys = section.stringMap("siteKeys", "The bundle ID or host that a site key belongs to, by site key.")
    section.read(&secret, "secretFile", "The file with the secret of siteverify.")
    hostname = section.string("hostname", default: hostname, "The host in answers of siteverify.")
  }
}

extension ConfigurationSection {
  fileprivate func read(_ secret: inout Secret, _ key: String, _ help: String) {
    if let given = secretFile(key, help) { secret = given }
  }

  fileprivate func tokenKeys(_ help: String) -> [String: Secret] {
    var keys: [String: Secret] = [:]
    for (id, key) in namedSections("keys", help) {
      keys[id] = key.requiredSecretFile("keyFile", "The key in PEM: the .p8 file that signs, or its public half.")
    }
    return keys
  }
}
