import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// AWS End User Messaging: `POST /`, with the operation in a header
/// (https://docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2/API_SendTextMessage.html).
struct AWSStub: ProviderStub {
  static let target = "X-Amz-Target"
  private static let mediaType = "application/x-amz-json-1.0"
  private static let operations = "PinpointSMSVoiceV2."
  /// Seconds (`TimeToLive`).
  private static let validities = 5...259_200
  /// Characters of `MessageBody`.
  private static let bodyLengths = 1...1_600
  private static let maxContextEntries = 5
  /// Known members: AWS ignores unknown ones, the simulator refuses them, to find misspelled names.
  private static let members: Set<String> = [
    "ConfigurationSetName", "Context", "DestinationCountryParameters", "DestinationPhoneNumber", "DryRun", "Keyword",
    "MaxPrice", "MessageBody", "MessageFeedbackEnabled", "MessageType", "OriginationIdentity",
    "ProtectConfigurationId", "TimeToLive",
  ]

  private struct Order: Decodable {
    let destination: String?
    let sender: String?
    let body: String?
    let messageType: String?
    let timeToLive: Int?
    let context: [String: String]?
    let maxPrice: String?
    let configurationSet: String?
    let dryRun: Bool?

    enum CodingKeys: String, CodingKey {
      case destination = "DestinationPhoneNumber"
      case sender = "OriginationIdentity"
      case body = "MessageBody"
      case messageType = "MessageType"
      case timeToLive = "TimeToLive"
      case context = "Context"
      case maxPrice = "MaxPrice"
      case configurationSet = "ConfigurationSetName"
      case dryRun = "DryRun"
    }

    /// In E.164.
    var recipient: String { destination.map { $0.hasPrefix("+") ? $0 : "+\($0)" } ?? "" }
  }

  let provider = Provider.aws
  let settings: AWSMessagingSettings
  let store: MessageStore

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    let name = request.headers[Self.target] ?? ""
    let operation = String(name.dropFirst(Self.operations.count))
    guard request.method == "POST", request.target == "/", name.hasPrefix(Self.operations),
      request.headers["Content-Type"] == Self.mediaType,
      ["SendTextMessage", "DescribeAccountAttributes"].contains(operation)
    else { throw ProviderError("UnknownOperationException", "The operation is not known.") }
    try AWSSignatureCheck(settings: settings).check(request, now: now)
    guard operation == "SendTextMessage" else {
      return ProviderCall { _ in
        Self.answer("{\"AccountAttributes\":[{\"Name\":\"ACCOUNT_TIER\",\"Value\":\"PRODUCTION\"}]}")
      }
    }
    let order = try read(request.body)
    return ProviderCall(recipient: order.recipient) { (now) throws(ProviderError) in
      try check(order)
      let message = ReceivedMessage(
        to: order.recipient, from: order.sender, body: order.body ?? "", receivedAt: now, provider: .aws,
        id: Self.newID())
      if order.dryRun != true { store.record(message) }
      return Self.answer("{\"MessageId\":\"\(message.id)\"}")
    }
  }

  private static func answer(_ text: String) -> HTTPServerResponse {
    HTTPServerResponse(status: 200, contentType: mediaType, text: text)
  }

  /// Random UUID (RFC 9562, version 4).
  private static func newID() -> String {
    var bytes = SecureRandom.bytes(16)
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    return Hexadecimal.uuid(bytes)
  }
}

// MARK: - Checks

extension AWSStub {
  private func read(_ bytes: [UInt8]) throws(ProviderError) -> Order {
    let order: Order
    let given: Set<String>
    do {
      given = Set((try JSONReader.requests.value(of: bytes).members ?? [:]).keys)
      order = try JSONReader.requests.decode(Order.self, from: bytes)
    } catch {
      throw ProviderError("SerializationException", "The body is not the JSON of this operation.")
    }
    if let unknown = given.subtracting(Self.members).min() {
      throw Self.invalid(unknown, "There is no such member.", reason: "INVALID_REQUEST")
    }
    return order
  }

  private func check(_ order: Order) throws(ProviderError) {
    guard Recipients.isE164(order.recipient) else {
      throw Self.invalid("DestinationPhoneNumber", "The number is not in E.164.")
    }
    guard Self.bodyLengths.contains((order.body ?? "").unicodeScalars.count) else {
      throw Self.invalid("MessageBody", "The text must have 1 to 1600 characters.")
    }
    guard ["TRANSACTIONAL", "PROMOTIONAL"].contains(order.messageType ?? "TRANSACTIONAL") else {
      throw Self.invalid("MessageType", "The type must be TRANSACTIONAL or PROMOTIONAL.")
    }
    guard Self.validities.contains(order.timeToLive ?? Self.validities.upperBound) else {
      throw Self.invalid("TimeToLive", "The value must be from 5 to 259200.")
    }
    guard (order.context ?? [:]).count <= Self.maxContextEntries, (order.context ?? [:]).allSatisfy(Self.isContext)
    else { throw Self.invalid("Context", "At most five entries without space, of 100 and 800 characters.") }
    guard order.maxPrice.map(Self.isPrice) ?? true else {
      throw Self.invalid("MaxPrice", "The price has another form.")
    }
    // AWS would choose a sender itself; a lane always names one.
    guard let sender = order.sender, settings.originationIdentities.contains(sender) else {
      throw ProviderError("ResourceNotFoundException", "The origination identity does not exist.")
    }
    guard order.configurationSet == nil else {
      throw ProviderError("ResourceNotFoundException", "The configuration set does not exist.")
    }
    switch Recipients.refusal(order.recipient)?.code {
    case nil: return
    case 21612: throw Self.conflict("NO_ORIGINATION_IDENTITIES_FOUND")
    case 21408: throw Self.conflict("DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION")
    case 21610: throw Self.conflict("DESTINATION_PHONE_NUMBER_OPTED_OUT")
    default:
      throw Self.invalid("DestinationPhoneNumber", "The number is not valid.", reason: "INVALID_PARAMETER")
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

// MARK: - Exceptions

extension AWSStub {
  private static func invalid(
    _ field: String, _ text: String, reason: String = "FIELD_VALIDATION_FAILED"
  ) -> ProviderError {
    ProviderError("ValidationException", text, detail: reason, field: field)
  }

  private static func conflict(_ reason: String) -> ProviderError {
    ProviderError("ConflictException", "The request conflicts with the state of a resource.", detail: reason)
  }

  func failure(_ status: Int) -> ProviderError {
    switch status {
    case 429: ProviderError("ThrottlingException", "Rate exceeded", status: status)
    case 500...: ProviderError("InternalServerException", "An internal error occurred.", status: status)
    case 401, 403: ProviderError("AccessDeniedException", "Access is denied.", status: status)
    default: ProviderError("ValidationException", "The request was refused.", status: status, detail: "OTHER")
    }
  }

  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse {
    let text = JSONString.quote(error.text)
    var members = ["\"__type\":\"com.amazonaws.pinpointsmsvoicev2#\(error.code)\"", "\"Message\":\(text)"]
    if let reason = error.detail { members.append("\"Reason\":\"\(reason)\"") }
    if let field = error.field { members.append("\"Fields\":[{\"Name\":\"\(field)\",\"Message\":\(text)}]") }
    return HTTPServerResponse(
      status: error.status, contentType: Self.mediaType, text: "{\(members.joined(separator: ","))}")
  }
}
