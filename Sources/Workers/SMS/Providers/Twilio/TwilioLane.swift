import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// Twilio has no idempotency key, so a call without a clear answer is `unknown` and is not repeated here.
struct TwilioLane: HTTPLane {
  let context: LaneContext
  private let configuration: TwilioConfiguration
  private let authorization: Secret
  private let addresses: ReportAddresses?

  init(
    _ configuration: TwilioConfiguration, password: Secret, _ context: LaneContext, _ addresses: ReportAddresses?
  ) {
    self.context = context
    self.addresses = addresses
    self.configuration = configuration
    let credentials = configuration.username + ":" + password.reveal()
    self.authorization = Secret("Basic " + Base64.encode(Array(credentials.utf8)))
  }

  func request(_ message: OutgoingSMS, _ attempt: JobAttempt) -> PreparedRequest<HTTPRequest> {
    guard let validity = LaneRequest.validity(of: attempt, within: TwilioConfiguration.validity) else {
      return .impossible(LaneRequest.tooLate)
    }
    var fields = [(name: "To", value: message.to), (name: "Body", value: message.text.text)]
    switch configuration.sender {
    case .number(let from): fields.append((name: "From", value: from))
    case .messagingService(let sid): fields.append((name: "MessagingServiceSid", value: sid))
    }
    fields.append((name: "ValidityPeriod", value: String(validity)))
    if let addresses {
      fields.append((name: "StatusCallback", value: addresses.url(lane: name, of: attempt, form: .query)))
    }
    return .request(
      HTTPRequest(
        method: "POST", url: configuration.messagesURL,
        headers: HTTPHeaders([
          (name: "Authorization", value: authorization.reveal()),
          (name: "Content-Type", value: "application/x-www-form-urlencoded"),
          (name: "Accept", value: "application/json"),
        ]),
        body: FormEncoding.encode(fields), timeouts: .within(attempt.timeout),
        maxResponseBytes: LaneRequest.maxResponseBytes))
  }

  func classify(_ response: HTTPResponse, of message: OutgoingSMS) -> Classification {
    TwilioAnswer(response, now: context.clock.now()).classification(context.table)
  }
}

extension TwilioLane {
  private struct Account: Decodable { let status: String? }

  /// Reads the account. Standard API keys may not (403).
  func probe() async -> ProbeResult {
    let request = LaneRequest.probe(configuration.accountURL, authorization: authorization.reveal())
    return await probe(request, credentials: "accountSID, username and passwordFile") {
      let status = Self.body($0, as: Account.self)?.status
      return status == "suspended" || status == "closed" ? Self.inactive : nil
    }
  }

  private static let inactive = Reason("PROVIDER_ACCOUNT", "The Twilio account is suspended or closed.")
}
