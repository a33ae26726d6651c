import CountersignTelemetry
import ServiceRuntime

/// A lane of type `webhook`.
struct WebhookSettings: Sendable {
  let url: String
  let from: String?
  /// nil when the file is wrong, which is reported.
  let signer: WebhookSigner?
  let receiverDeduplicates: Bool

  init(_ section: ConfigurationSection) {
    url = section.baseURL(default: nil, "The whole address that takes the messages.")
    from = section.from("Who the message is from, for the payload.")
    signer = Self.signer(section)
    receiverDeduplicates = section.bool(
      "receiverDeduplicates", default: false,
      "Whether the receiver promises one message for one webhook-id; then a call without an answer is repeated.")
  }

  private static func signer(_ section: ConfigurationSection) -> WebhookSigner? {
    let secrets = section.requiredSecretFile("secretFile", "One to four secrets whsec_…, one a line; all of them sign.")
    guard !secrets.isEmpty else { return nil }
    do {
      return try WebhookSigner(secrets)
    } catch {
      section.problem("secretFile", error.message)
      return nil
    }
  }
}
