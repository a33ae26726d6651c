import ServiceRuntime
import Telemetry

/// A lane of type `vonage`.
struct VonageSettings: Sendable {
  let configuration: VonageConfiguration
  let secret: Secret

  init(_ section: ConfigurationSection) {
    let baseURL = section.baseURL(default: "https://rest.nexmo.com", "Where Vonage is, without the path of the API.")
    let apiKey = section.string("apiKey", "The account's API key.")
    secret = section.requiredSecretFile("apiSecretFile", "The account's API secret.")
    let from = section.requiredFrom()
    section.check(
      "apiKey", apiKey.isEmpty || apiKey.isMatched(by: \.isLetterOrDigit, length: 1...64), "must be letters and digits")
    configuration = VonageConfiguration(baseURL: baseURL, apiKey: apiKey, from: from)
  }
}
