import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// Sends through MessageBird's REST API (https://developers.messagebird.com/api/sms-messaging).
///
/// `reference` is the job's ID, without which MessageBird makes no reports. It is no idempotency key: the same one twice is two messages.
struct MessageBirdLane: HTTPLane {
  let name: String
  let configuration: MessageBirdConfiguration
  let accessKey: Secret
  let table: ProviderTable
  /// Where MessageBird is told to report; nil when nobody wants to know.
  var callbacks: CallbackAddresses?
  let http: any HTTPCaller
  let clock: any WallClock

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

  func request(_ message: OutgoingSMS, _ attempt: JobAttempt) -> PreparedRequest {
    guard let seconds = LaneRequest.validity(of: attempt, within: MessageBirdConfiguration.validity) else {
      return .impossible(LaneRequest.tooLate)
    }
    let body = Body(
      originator: LaneRequest.digits(configuration.from), recipients: [LaneRequest.digits(message.to)],
      body: message.text.text, datacoding: message.text.encoding == .ucs2 ? "unicode" : "plain", validity: seconds,
      reference: String(attempt.jobID.prefix(MessageBirdConfiguration.maxReferenceLength)),
      reportUrl: callbacks?.url(lane: name, of: attempt))
    // Texts and whole numbers can always be written, so there is no more to say about it.
    guard let json = try? JSONEncoder().encode(body) else {
      return .impossible(.refused(Reason("INVALID_TEXT", "The message cannot be written as JSON.")))
    }
    return .request(
      HTTPRequest(
        method: "POST", url: configuration.url,
        headers: [
          "Authorization": authorization, "Content-Type": "application/json", "Accept": "application/json",
        ],
        body: Array(json), timeouts: .within(attempt.timeout), maxResponseBytes: LaneRequest.maxResponseBytes))
  }

  func classify(_ response: HTTPResponse) -> Classification {
    MessageBirdAnswer(response, now: clock.now()).classification(table)
  }
}

extension MessageBirdLane {
  private struct Balance: Decodable {
    let payment: String
    let amount: Double
  }

  /// Reads the balance (https://developers.messagebird.com/api/balance).
  func probe() async -> ProbeResult {
    await probe(LaneRequest.probe(configuration.balanceURL, authorization: authorization)) {
      guard let balance = Self.body($0, as: Balance.self) else { return nil }
      return balance.payment == "prepaid" && balance.amount <= 0 ? Self.noCredit : nil
    }
  }
}

/// One MessageBird account and its sender.
struct MessageBirdConfiguration: Sendable, Hashable {
  /// `validity`, in seconds.
  static let validity = 1...172_800
  /// `reference`, in characters.
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
