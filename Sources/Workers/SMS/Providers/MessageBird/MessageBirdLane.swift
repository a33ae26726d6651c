import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// Sends through MessageBird's REST API (https://developers.messagebird.com/api/sms-messaging).
///
/// `reference` is the job's ID; MessageBird does not report without one. It is not an idempotency key: the same
/// reference twice makes two messages.
struct MessageBirdLane: HTTPLane {
  let context: LaneContext
  let configuration: MessageBirdConfiguration
  let accessKey: Secret
  /// `nil` if no reports are asked for.
  let addresses: ReportAddresses?

  private var authorization: String { "AccessKey " + accessKey.reveal() }

  private struct Body: Encodable {
    let originator: String
    let recipients: [String]
    let body: String
    let type = "sms"
    let datacoding: String
    let validity: Int
    let reference: String
    let reportUrl: String?

    enum CodingKeys: String, CodingKey {
      case originator, recipients, body, type, datacoding, validity, reference, reportUrl
    }
  }

  func request(_ message: OutgoingSMS, _ attempt: JobAttempt) -> PreparedRequest<HTTPRequest> {
    guard let seconds = LaneRequest.validity(of: attempt, within: MessageBirdConfiguration.validity) else {
      return .impossible(LaneRequest.tooLate)
    }
    let body = Body(
      originator: LaneRequest.digits(configuration.from), recipients: [LaneRequest.digits(message.to)],
      body: message.text.text, datacoding: message.text.encoding == .ucs2 ? "unicode" : "plain", validity: seconds,
      reference: String(attempt.jobID.prefix(MessageBirdConfiguration.maxReferenceLength)),
      reportUrl: addresses?.url(lane: name, of: attempt, form: .path))
    guard let json = try? JSONEncoder().encode(body) else { return .impossible(LaneRequest.unwritable) }
    return .request(
      HTTPRequest(
        method: "POST", url: configuration.url,
        headers: [
          "Authorization": authorization, "Content-Type": "application/json", "Accept": "application/json",
        ],
        body: Array(json), timeouts: .within(attempt.timeout), maxResponseBytes: LaneRequest.maxResponseBytes))
  }

  func classify(_ response: HTTPResponse, of message: OutgoingSMS) -> Classification {
    MessageBirdAnswer(response, now: context.clock.now()).classification(context.table)
  }
}

extension MessageBirdLane {
  private struct Balance: Decodable {
    let payment: String
    let amount: Double
  }

  /// Reads the balance (https://developers.messagebird.com/api/balance).
  func probe() async -> ProbeResult {
    let request = LaneRequest.probe(configuration.balanceURL, authorization: authorization)
    return await probe(request, credentials: "accessKeyFile") {
      guard let balance = Self.body($0, as: Balance.self) else { return nil }
      return balance.payment == "prepaid" && balance.amount <= 0 ? Self.noCredit : nil
    }
  }
}
