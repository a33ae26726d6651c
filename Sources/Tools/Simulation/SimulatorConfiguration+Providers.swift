import CountersignTelemetry
import ServiceRuntime

extension ConfigurationSection {
  /// Replaces a secret by the content of a file, if one is configured.
  func read(_ secret: inout Secret, _ key: String, _ help: String) {
    if let given = secretFile(key, help) { secret = given }
  }

  fileprivate func tokenKeys(_ help: String) -> [String: Secret] {
    var keys: [String: Secret] = [:]
    for (id, key) in namedSections("keys", help) {
      keys[id] = key.requiredSecretFile(
        "keyFile", "The key in PEM: the .p8 file that signs, or its public half.")
    }
    return keys
  }
}

extension SimulatedVonageSettings {
  mutating func read(_ section: ConfigurationSection) {
    apiKey = section.string("apiKey", default: apiKey, "The account that may send.")
    section.read(&apiSecret, "apiSecretFile", "The file with the account's API secret.")
    section.read(&signatureSecret, "signatureSecretFile", "The file with the secret that signs delivery reports.")
  }
}

extension SimulatedMessageBirdSettings {
  mutating func read(_ section: ConfigurationSection) {
    section.read(&accessKey, "accessKeyFile", "The file with the account's access key.")
    section.read(&signingKey, "signingKeyFile", "The file with the key that signs status reports.")
  }
}

extension AWSMessagingSettings {
  mutating func read(_ section: ConfigurationSection) {
    accessKeyID = section.string("accessKeyID", default: accessKeyID, "The ID of the access key.")
    section.read(&secretKey, "secretKeyFile", "The file with the secret access key.")
    sessionToken = section.secretFile("sessionTokenFile", "The file with the session token of a temporary key.")
    region = section.string("region", default: region, "The region that requests must be signed for.")
    let names = section.strings("originationIdentities", "The account's numbers, sender IDs and pools.")
    if !names.isEmpty { originationIdentities = Set(names) }
  }
}

extension SMPPServerSettings {
  /// `nil` if there is no server.
  init?(_ section: ConfigurationSection) {
    self.init()
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

extension SimulatedAPNsSettings {
  mutating func read(_ section: ConfigurationSection) {
    teamID = section.string("teamID", default: teamID, "The team that may send.")
    keys = section.tokenKeys("Its keys for pushes, by key ID.")
    topics = Set(section.strings("topics", "The apps of the team: their bundle IDs."))
  }
}

extension AppleIDSettings {
  mutating func read(_ section: ConfigurationSection) {
    teamID = section.string("teamID", default: teamID, "The team of the clients.")
    keys = section.tokenKeys("Its keys for Sign in with Apple, by key ID.")
    clientIDs = Set(section.strings("clientIDs", "The clients: bundle IDs and Services IDs."))
    audience = section.string("audience", default: audience, "The audience of client secrets.")
  }
}

extension SimulatedRecaptchaSettings {
  mutating func read(_ section: ConfigurationSection) {
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
