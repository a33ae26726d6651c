import CountersignTelemetry
import JobEngine
import ServiceRuntime

struct MessageBirdProvider: SMSProvider {
  static let typeName = "messagebird"
  static let tables = [ProviderTables.Source(typeName, sections: [.codes, .statuses, .receipts])]

  let configuration: MessageBirdConfiguration
  let accessKey: Secret
  /// `nil` if no reports are asked for.
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

struct MessageBirdConfiguration: Sendable, Hashable {
  /// In seconds.
  static let validity = 1...172_800
  /// In characters.
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
