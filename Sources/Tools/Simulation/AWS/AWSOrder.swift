import CountersignEncoding

/// Body of `SendTextMessage`, and the checks that AWS makes of it
/// (https://docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2/API_SendTextMessage.html).
struct AWSOrder: Decodable, Sendable {
  /// Seconds (`TimeToLive`).
  static let validities = 5...259_200
  /// Characters of `MessageBody`.
  static let bodyLengths = 1...1_600
  static let maxContextEntries = 5

  /// Known members: AWS ignores unknown ones, the simulator refuses them, to find misspelled names.
  private static let members: Set<String> = [
    "ConfigurationSetName", "Context", "DestinationCountryParameters", "DestinationPhoneNumber", "DryRun", "Keyword",
    "MaxPrice", "MessageBody", "MessageFeedbackEnabled", "MessageType", "OriginationIdentity",
    "ProtectConfigurationId", "TimeToLive",
  ]

  let destination: String?
  private let origination: String?
  private let body: String?
  private let messageType: String?
  private let timeToLive: Int?
  private let context: [String: String]?
  private let maxPrice: String?
  private let configurationSet: String?
  private let dryRun: Bool?

  private enum CodingKeys: String, CodingKey {
    case destination = "DestinationPhoneNumber"
    case origination = "OriginationIdentity"
    case body = "MessageBody"
    case messageType = "MessageType"
    case timeToLive = "TimeToLive"
    case context = "Context"
    case maxPrice = "MaxPrice"
    case configurationSet = "ConfigurationSetName"
    case dryRun = "DryRun"
  }

  static func read(_ bytes: [UInt8]) throws(AWSError) -> AWSOrder {
    let order: AWSOrder
    let given: Set<String>
    do {
      given = Set((try JSONReader.requests.value(of: bytes).members ?? [:]).keys)
      order = try JSONReader.requests.decode(AWSOrder.self, from: bytes)
    } catch {
      throw AWSError("SerializationException", "The body is not the JSON of this operation.")
    }
    if let unknown = given.subtracting(members).min() {
      throw .invalid(unknown, "There is no such member.", reason: "INVALID_REQUEST")
    }
    return order
  }

  /// Whether the message is only validated.
  var isDryRun: Bool { dryRun ?? false }
  var sender: String? { origination }
  var text: String { body ?? "" }
  /// Recipient in E.164.
  var recipient: String { destination.map { $0.hasPrefix("+") ? $0 : "+\($0)" } ?? "" }

  /// Throws the first problem.
  func check(_ settings: AWSMessagingSettings) throws(AWSError) {
    guard destination != nil, Recipients.isE164(recipient) else {
      throw .invalid("DestinationPhoneNumber", "The number is not in E.164.")
    }
    guard Self.bodyLengths.contains(text.unicodeScalars.count) else {
      throw .invalid("MessageBody", "The text must have 1 to 1600 characters.")
    }
    guard ["TRANSACTIONAL", "PROMOTIONAL"].contains(messageType ?? "TRANSACTIONAL") else {
      throw .invalid("MessageType", "The type must be TRANSACTIONAL or PROMOTIONAL.")
    }
    guard Self.validities.contains(timeToLive ?? Self.validities.upperBound) else {
      throw .invalid("TimeToLive", "The value must be from 5 to 259200.")
    }
    guard (context ?? [:]).count <= Self.maxContextEntries, (context ?? [:]).allSatisfy(Self.isContext) else {
      throw .invalid("Context", "At most five entries without space, of 100 and 800 characters.")
    }
    guard maxPrice.map(Self.isPrice) ?? true else { throw .invalid("MaxPrice", "The price has another form.") }
    // AWS would choose a sender itself; a lane always names one.
    guard let sender, settings.originationIdentities.contains(sender) else {
      throw AWSError("ResourceNotFoundException", "The origination identity does not exist.")
    }
    guard configurationSet == nil else {
      throw AWSError("ResourceNotFoundException", "The configuration set does not exist.")
    }
    try checkRecipient()
  }

  private func checkRecipient() throws(AWSError) {
    switch Recipients.refusal(recipient)?.code {
    case nil: break
    case 21612: throw .conflict("NO_ORIGINATION_IDENTITIES_FOUND")
    case 21408: throw .conflict("DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION")
    case 21610: throw .conflict("DESTINATION_PHONE_NUMBER_OPTED_OUT")
    default: throw .invalid("DestinationPhoneNumber", "The number is not valid.", reason: "INVALID_PARAMETER")
    }
  }

  private static func isContext(_ entry: (key: String, value: String)) -> Bool {
    let hasSpace = (entry.key + entry.value).unicodeScalars.contains { $0.properties.isWhitespace }
    return !hasSpace && (1...100).contains(entry.key.count) && (1...800).contains(entry.value.count)
  }

  private static func isPrice(_ text: String) -> Bool {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 2 && parts[0].count <= 2 && (1...5).contains(parts[1].count)
      && parts.allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
  }
}
