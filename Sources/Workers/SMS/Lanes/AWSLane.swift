import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// Sends through AWS End User Messaging, `SendTextMessage`
/// (https://docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2/API_SendTextMessage.html).
///
/// AWS has no token that would make a second request harmless.
struct AWSLane: HTTPLane {
  let name: String
  let configuration: AWSConfiguration
  let signer: AWSSigner
  let table: ProviderTable
  let http: any HTTPCaller
  let clock: any WallClock

  private struct Body: Encodable {
    var destinationPhoneNumber: String
    var originationIdentity: String
    var messageBody: String
    var messageType: String
    var timeToLive: Int
    var configurationSetName: String?
    var protectConfigurationID: String?
    var maxPrice: String?
    /// Comes back with the events of the message.
    var context: [String: String]

    enum CodingKeys: String, CodingKey {
      case destinationPhoneNumber = "DestinationPhoneNumber"
      case originationIdentity = "OriginationIdentity"
      case messageBody = "MessageBody"
      case messageType = "MessageType"
      case timeToLive = "TimeToLive"
      case configurationSetName = "ConfigurationSetName"
      case protectConfigurationID = "ProtectConfigurationId"
      case maxPrice = "MaxPrice"
      case context = "Context"
    }
  }

  func request(_ message: OutgoingSMS, _ attempt: JobAttempt) -> PreparedRequest {
    guard let seconds = LaneRequest.validity(of: attempt, within: AWSConfiguration.validity) else {
      return .impossible(LaneRequest.tooLate)
    }
    let body = Body(
      destinationPhoneNumber: message.to, originationIdentity: configuration.from, messageBody: message.text.text,
      messageType: configuration.messageType.rawValue, timeToLive: seconds,
      configurationSetName: configuration.configurationSet,
      protectConfigurationID: configuration.protectConfigurationID,
      maxPrice: configuration.maxPrice, context: Self.context(attempt.jobID))
    // Texts and whole numbers can always be written, so there is no more to say about it.
    guard let json = try? JSONEncoder().encode(body) else {
      return .impossible(.refused(Reason("INVALID_TEXT", "The message cannot be written as JSON.")))
    }
    return .request(request("SendTextMessage", Array(json), .within(attempt.timeout)))
  }

  private func request(_ operation: String, _ payload: [UInt8], _ timeouts: HTTPTimeouts) -> HTTPRequest {
    let signed = signer.sign(
      [
        (name: "content-type", value: "application/x-amz-json-1.0"), (name: "host", value: configuration.host),
        (name: "x-amz-target", value: "PinpointSMSVoiceV2.\(operation)"),
      ], payload: payload, now: clock.now())
    return HTTPRequest(
      method: "POST", url: configuration.url, headers: HTTPHeaders(signed), body: payload, timeouts: timeouts,
      maxResponseBytes: LaneRequest.maxResponseBytes)
  }

  /// Reads the account's attributes. What may be read is another right than what may be sent, so only refused credentials say something.
  func probe() async -> ProbeResult {
    let response: HTTPResponse
    do {
      response = try await http.send(request("DescribeAccountAttributes", Array("{}".utf8), .within(.seconds(5))))
    } catch {
      return .down(Reason("NOT_CONNECTED", "The provider could not be reached: \(error)"))
    }
    let answer = AWSAnswer(response, now: clock.now())
    guard answer.saysCredentialsAreWrong, case .laneDown(let reason) = answer.classification(table) else {
      return .cannotTell
    }
    return .down(reason)
  }

  /// AWS takes no value that is long, or begins or ends with space; an ID is rarely either.
  private static func context(_ jobID: String) -> [String: String] {
    let isTaken = jobID.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    return isTaken ? ["jobID": jobID] : [:]
  }

  func classify(_ response: HTTPResponse) -> Classification {
    AWSAnswer(response, now: clock.now()).classification(table)
  }
}

/// One AWS account and its sender.
struct AWSConfiguration: Sendable, Hashable {
  /// What the message is for, which decides how a carrier treats it.
  enum MessageType: String, Sendable, CaseIterable {
    case transactional = "TRANSACTIONAL"
    case promotional = "PROMOTIONAL"
  }

  /// `TimeToLive`, in seconds.
  static let validity = 5...259_200

  let url: String
  /// Name and port, as the request's own header has it: it is signed.
  let host: String
  /// A number, a sender ID, or the ID of a pool or one of these as an ARN.
  let from: String
  var messageType = MessageType.transactional
  var configurationSet: String?
  var protectConfigurationID: String?
  /// In US dollars a part.
  var maxPrice: String?

  init(baseURL: String, from: String) {
    url = LaneRequest.base(baseURL) + "/"
    let scheme = baseURL.hasPrefix("https://") ? "https://" : "http://"
    host = String(baseURL.dropFirst(scheme.count).prefix { $0 != "/" })
    self.from = from
  }
}
