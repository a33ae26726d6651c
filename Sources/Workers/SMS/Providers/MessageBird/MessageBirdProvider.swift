import CountersignTelemetry
import JobEngine
import ServiceRuntime

/// MessageBird's REST API: lanes of type `messagebird`.
struct MessageBirdProvider: SMSProvider {
  static let typeName = "messagebird"
  static let tables = [ProviderTables.Source(typeName, sections: [.codes, .statuses, .receipts])]

  let configuration: MessageBirdConfiguration
  let accessKey: Secret
  /// Verifies MessageBird's reports. `nil` if none are asked for.
  let signature: MessageBirdSignature?

  init(_ section: ConfigurationSection) {
    let baseURL = section.baseURL(
      default: "https://rest.messagebird.com", "Address of MessageBird, without the path of the API.")
    accessKey = section.requiredSecretFile("accessKeyFile", "The account's live access key.")
    configuration = MessageBirdConfiguration(baseURL: baseURL, from: section.requiredFrom())
    signature = section.secretFile(
      "signingKeyFile", "The account's signing key, which signs status reports; absent: none are requested."
    ).map { MessageBirdSignature(signingKey: $0) }
  }

  func makeLane(_ context: LaneContext, _ reports: ReportWays) -> SMSProviderLane {
    SMSProviderLane(
      MessageBirdLane(
        context: context, configuration: configuration, accessKey: accessKey,
        addresses: signature == nil ? nil : reports.addresses),
      reports: signature.map { MessageBirdReports(signature: $0, table: context.table) })
  }
}

/// One MessageBird account and its sender.
struct MessageBirdConfiguration: Sendable, Hashable {
  /// Limits of `validity`, in seconds.
  static let validity = 1...172_800
  /// Maximum length of `reference`, in characters.
  static let maxReferenceLength = 128

  let url: String
  let balanceURL: String
  let from: String

  init(baseURL: String, from: String) {
    url = LaneRequest.base(baseURL) + "/messages"
    balanceURL = LaneRequest.base(baseURL) + "/balance"
    self.from = from
  }
}
