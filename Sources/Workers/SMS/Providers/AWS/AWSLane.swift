import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// Sends through AWS End User Messaging, `SendTextMessage`
/// (https://docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2/API_SendTextMessage.html).
///
/// AWS has no idempotency key.
struct AWSLane: HTTPLane {
  let context: LaneContext
  let configuration: AWSConfiguration
  let signer: AWSSigner

  private struct Body: Encodable {
    var destinationPhoneNumber: String
    var originationIdentity: String
    var messageBody: String
    var messageType: String
    var timeToLive: Int
    var configurationSetName: String?
    var protectConfigurationID: String?
    var maxPrice: String?
    /// Attached by AWS to the events of the message.
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

  func request(_ message: OutgoingSMS, _ attempt: JobAttempt) -> PreparedRequest<HTTPRequest> {
    guard let seconds = LaneRequest.validity(of: attempt, within: AWSConfiguration.validity) else {
      return .impossible(LaneRequest.tooLate)
    }
    let body = Body(
      destinationPhoneNumber: message.to, originationIdentity: configuration.from, messageBody: message.text.text,
      messageType: configuration.messageType.rawValue.uppercased(), timeToLive: seconds,
      configurationSetName: configuration.configurationSet,
      protectConfigurationID: configuration.protectConfigurationID,
      maxPrice: configuration.maxPrice, context: Self.labels(attempt.jobID))
    guard let json = try? JSONEncoder().encode(body) else { return .impossible(LaneRequest.unwritable) }
    return .request(request("SendTextMessage", Array(json), .within(attempt.timeout)))
  }

  private func request(_ operation: String, _ payload: [UInt8], _ timeouts: HTTPTimeouts) -> HTTPRequest {
    let signed = signer.sign(
      [
        (name: "content-type", value: "application/x-amz-json-1.0"), (name: "host", value: configuration.host),
        (name: "x-amz-target", value: "PinpointSMSVoiceV2.\(operation)"),
      ], payload: payload, now: context.clock.now())
    return HTTPRequest(
      method: "POST", url: configuration.url, headers: HTTPHeaders(signed), body: payload, timeouts: timeouts,
      maxResponseBytes: LaneRequest.maxResponseBytes)
  }

  /// Reads the account's attributes: a right of its own, so only refused credentials say something about the lane.
  func probe() async -> ProbeResult {
    let response: HTTPResponse
    do {
      response = try await context.http.send(
        request("DescribeAccountAttributes", Array("{}".utf8), .within(.seconds(5))))
    } catch {
      return .down(Reason("NOT_CONNECTED", "The provider could not be reached: \(error)"))
    }
    let answer = AWSAnswer(response, now: context.clock.now())
    guard answer.saysCredentialsAreWrong, case .laneDown(let reason) = answer.classification(context.table) else {
      return .cannotTell
    }
    return .down(reason)
  }

  /// Labels for the events of a message. AWS refuses values that begin or end with a space; an ID rarely does.
  private static func labels(_ jobID: String) -> [String: String] {
    let isTaken = jobID.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    return isTaken ? ["jobID": jobID] : [:]
  }

  func classify(_ response: HTTPResponse, of message: OutgoingSMS) -> Classification {
    AWSAnswer(response, now: context.clock.now()).classification(context.table)
  }
}
