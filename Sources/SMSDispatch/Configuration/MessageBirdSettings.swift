import ServiceRuntime
import Telemetry

/// A lane of type `messagebird`.
struct MessageBirdSettings: Sendable {
  let configuration: MessageBirdConfiguration
  let accessKey: Secret

  init(_ section: ConfigurationSection) {
    let baseURL = section.baseURL(
      default: "https://rest.messagebird.com", "Where MessageBird is, without the path of the API.")
    accessKey = section.requiredSecretFile("accessKeyFile", "The account's live access key.")
    configuration = MessageBirdConfiguration(baseURL: baseURL, from: section.requiredFrom())
  }
}
