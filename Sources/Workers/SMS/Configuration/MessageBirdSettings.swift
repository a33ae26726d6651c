import CountersignTelemetry
import ServiceRuntime

/// A lane of type `messagebird`.
struct MessageBirdSettings: Sendable {
  let configuration: MessageBirdConfiguration
  let accessKey: Secret
  /// Tells MessageBird's reports from others; nil when none are asked for.
  let signature: MessageBirdSignature?

  init(_ section: ConfigurationSection) {
    let baseURL = section.baseURL(
      default: "https://rest.messagebird.com", "Where MessageBird is, without the path of the API.")
    accessKey = section.requiredSecretFile("accessKeyFile", "The account's live access key.")
    configuration = MessageBirdConfiguration(baseURL: baseURL, from: section.requiredFrom())
    signature = section.secretFile(
      "signingKeyFile", "The account's signing key, which signs status reports; absent: none are asked for."
    ).map { MessageBirdSignature(signingKey: $0) }
  }
}
