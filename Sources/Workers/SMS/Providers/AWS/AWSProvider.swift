import CountersignTelemetry
import JobEngine
import ServiceRuntime

struct AWSProvider: SMSProvider {
  static let typeName = "aws"

  let configuration: AWSConfiguration
  let signer: AWSSigner

  init(_ section: ConfigurationSection) {
    let region = section.string("region", "The region whose endpoint is used, such as eu-central-1.")
    let baseURL = section.baseURL(
      default: "https://sms-voice.\(region).amazonaws.com", "The endpoint, if it is not the region's own.")
    let accessKeyID = section.string("accessKeyID", "The ID of the access key (AKIA…).")
    signer = AWSSigner(
      accessKeyID: accessKeyID,
      secretKey: section.requiredSecretFile("secretKeyFile", "The secret access key."),
      sessionToken: section.secretFile("sessionTokenFile", "The session token, if the access key is temporary."),
      region: region)
    var configuration = AWSConfiguration(
      baseURL: baseURL,
      from: section.string("originationIdentity", "A number, a sender ID or a pool, as its ID or its ARN."))
    configuration.messageType = section.word(
      "messageType", default: .transactional, "The type of message, for carriers.")
    configuration.configurationSet = section.optionalString(
      "configurationSet", "The configuration set, which says where events go.")
    configuration.protectConfigurationID = section.optionalString(
      "protectConfigurationID", "The protect configuration, which limits the destinations.")
    configuration.maxPrice = section.optionalString("maxPrice", "The maximum price of a part, in US dollars: 0.10.")
    self.configuration = configuration
    Self.check(
      section, region: region, accessKeyID: accessKeyID, from: configuration.from, maxPrice: configuration.maxPrice)
  }

  func makeLane(_ context: LaneContext, _ reports: ReportWays) -> SMSProviderLane {
    SMSProviderLane(AWSLane(context: context, configuration: configuration, signer: signer))
  }

  private static func check(
    _ section: ConfigurationSection, region: String, accessKeyID: String, from: String, maxPrice: String?
  ) {
    section.check(
      "region", region.isEmpty || region.isMatched(by: { $0.isLetterOrDigit || $0 == "-" }, length: 1...32),
      "must be letters, digits and hyphens, such as eu-central-1")
    section.check(
      "accessKeyID", accessKeyID.isEmpty || accessKeyID.isMatched(by: \.isLetterOrDigit, length: 16...128),
      "must be letters and digits")
    section.check(
      "maxPrice", maxPrice.map(isPrice) ?? true, "must be a price in US dollars with a dot, such as \"0.10\"")
    section.check(
      "originationIdentity",
      from.isEmpty
        || from.isMatched(by: { $0.isLetterOrDigit || "_:/+-".unicodeScalars.contains($0) }, length: 1...256),
      "must be a number, an ID or an ARN")
  }

  /// Whether a text is up to two digits, a dot and one to five digits.
  private static func isPrice(_ text: String) -> Bool {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    return parts.count == 2 && parts[0].isMatched(by: \.isDigit, length: 0...2)
      && parts[1].isMatched(by: \.isDigit, length: 1...5)
  }
}

struct AWSConfiguration: Sendable, Hashable {
  /// Decides how carriers treat the messages. Words of the configuration; the API has them in capitals.
  enum MessageType: String, Sendable, CaseIterable {
    case transactional, promotional
  }

  /// In seconds.
  static let validity = 5...259_200

  let url: String
  /// Name and port, as in the request's signed header.
  let host: String
  /// A number, a sender ID or the ID of a pool, or the ARN of one of them.
  let from: String
  var messageType = MessageType.transactional
  var configurationSet: String?
  var protectConfigurationID: String?
  /// In US dollars.
  var maxPrice: String?

  init(baseURL: String, from: String) {
    url = LaneRequest.base(baseURL) + "/"
    let scheme = baseURL.hasPrefix("https://") ? "https://" : "http://"
    host = String(baseURL.dropFirst(scheme.count).prefix { $0 != "/" })
    self.from = from
  }
}
