import CountersignTelemetry
import JobEngine
import ServiceRuntime

struct VonageProvider: SMSProvider {
  static let typeName = "vonage"
  static let tables = [ProviderTables.Source(typeName, sections: [.codes, .statuses, .receipts])]

  let configuration: VonageConfiguration
  let secret: Secret
  /// `nil` if no reports are asked for.
  let signature: VonageSignature?

  init(_ section: ConfigurationSection) {
    let baseURL = section.baseURL(default: "https://rest.nexmo.com", "Address of Vonage, without the path of the API.")
    let apiKey = section.string("apiKey", "The account's API key.")
    secret = section.requiredSecretFile("apiSecretFile", "The account's API secret.")
    let from = section.requiredFrom()
    section.check(
      "apiKey", apiKey.isEmpty || apiKey.isMatched(by: \.isLetterOrDigit, length: 1...64), "must be letters and digits")
    configuration = VonageConfiguration(baseURL: baseURL, apiKey: apiKey, from: from)
    let signatureSecret = section.secretFile(
      "signatureSecretFile", "The account's signature secret, which signs receipts; absent: none are requested.")
    let method: VonageSignature.Method = section.word(
      "signatureMethod", default: .sha256, "The HMAC of the account's settings that signs receipts.")
    signature = signatureSecret.map { VonageSignature(apiKey: apiKey, secret: $0, method: method) }
  }

  func makeLane(_ context: LaneContext, _ reports: ReportWays) -> SMSProviderLane {
    SMSProviderLane(
      VonageLane(
        context: context, configuration: configuration, secret: secret,
        addresses: signature == nil ? nil : reports.addresses),
      reports: signature.map { VonageReports(signature: $0, table: context.table) })
  }
}

struct VonageConfiguration: Sendable, Hashable {
  /// In seconds: 20 s to 7 days.
  static let validity = 20...604_800
  static let maxReferenceBytes = 40

  let url: String
  let balanceURL: String
  let apiKey: String
  let from: String

  init(baseURL: String, apiKey: String, from: String) {
    url = LaneRequest.base(baseURL) + "/sms/json"
    balanceURL = LaneRequest.base(baseURL) + "/account/get-balance"
    self.apiKey = apiKey
    self.from = from
  }
}
