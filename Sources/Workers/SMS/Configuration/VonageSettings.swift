import CountersignTelemetry
import ServiceRuntime

/// A lane of type `vonage`.
struct VonageSettings: Sendable {
  let configuration: VonageConfiguration
  let secret: Secret
  /// Tells Vonage's receipts from others; nil when none are asked for.
  let signature: VonageSignature?

  init(_ section: ConfigurationSection) {
    let baseURL = section.baseURL(default: "https://rest.nexmo.com", "Where Vonage is, without the path of the API.")
    let apiKey = section.string("apiKey", "The account's API key.")
    secret = section.requiredSecretFile("apiSecretFile", "The account's API secret.")
    let from = section.requiredFrom()
    section.check(
      "apiKey", apiKey.isEmpty || apiKey.isMatched(by: \.isLetterOrDigit, length: 1...64), "must be letters and digits")
    configuration = VonageConfiguration(baseURL: baseURL, apiKey: apiKey, from: from)
    let signatureSecret = section.secretFile(
      "signatureSecretFile", "The account's signature secret, which signs receipts; absent: none are asked for.")
    let method: VonageSignature.Method = section.word(
      "signatureMethod", default: .sha256, "The HMAC of the account's settings that signs receipts.")
    signature = signatureSecret.map { VonageSignature(apiKey: apiKey, secret: $0, method: method) }
  }
}
