import CountersignTelemetry
import JobEngine
import ServiceRuntime

struct WebhookProvider: SMSProvider {
  static let typeName = "webhook"
  static let tables = [ProviderTables.Source(typeName, sections: [.statuses])]

  let url: String
  let from: String?
  /// `nil` if the file of secrets has a problem, which is reported.
  let signer: WebhookSigner?
  let receiverDeduplicates: Bool

  init(_ section: ConfigurationSection) {
    url = section.baseURL(default: nil, "The complete address that receives the messages.")
    from = section.from("The sender, for the payload.")
    signer = Self.signer(section)
    receiverDeduplicates = section.bool(
      "receiverDeduplicates", default: false,
      "Whether the receiver sends one message per webhook-id; then a call without an answer is repeated.")
  }

  /// The payload says which tables the text needs.
  var takesNationalShiftTables: Bool { true }

  func makeLane(_ context: LaneContext, _ reports: ReportWays) throws(WorkerError) -> SMSProviderLane {
    guard let signer else {
      throw WorkerError(.invalidConfiguration, "lane \(context.name): the configuration has problems")
    }
    return SMSProviderLane(
      WebhookLane(context: context, deduplicates: receiverDeduplicates, url: url, from: from, signer: signer))
  }

  private static func signer(_ section: ConfigurationSection) -> WebhookSigner? {
    let secrets = section.requiredSecretFile(
      "secretFile", "One to four secrets whsec_…, one a line; each of them signs.")
    return secrets.isEmpty ? nil : section.read("secretFile", try WebhookSigner(secrets))
  }
}
