import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// Sends through Twilio's Messages API.
///
/// Twilio has no key that would make a second request harmless, so a call without a clear answer is `unknown` and nothing
/// here repeats it.
struct TwilioLane: HTTPLane {
  let name: String
  let configuration: TwilioConfiguration
  let authorization: Secret
  private let table: ProviderTable
  /// Where Twilio is told to report; nil when nobody wants to know.
  private let callbacks: CallbackAddresses?
  let http: any HTTPCaller
  private let clock: any WallClock

  /// - Parameters:
  ///   - password: The auth token of the account, or the secret of the API key.
  ///   - table: What Twilio's codes mean.
  ///   - callbacks: Where Twilio is told to report; nil when nobody wants to know.
  init(
    name: String, configuration: TwilioConfiguration, password: Secret, table: ProviderTable,
    callbacks: CallbackAddresses? = nil, http: any HTTPCaller, clock: any WallClock
  ) {
    self.name = name
    self.configuration = configuration
    self.table = table
    self.callbacks = callbacks
    self.http = http
    self.clock = clock
    let credentials = configuration.username + ":" + password.reveal()
    self.authorization = Secret("Basic " + Base64.encode(Array(credentials.utf8)))
  }

  func request(_ message: OutgoingSMS, _ attempt: JobAttempt) -> PreparedRequest {
    guard let validity = LaneRequest.validity(of: attempt, within: TwilioConfiguration.validity) else {
      return .impossible(LaneRequest.tooLate)
    }
    var fields = [(name: "To", value: message.to), (name: "Body", value: message.text.text)]
    switch configuration.sender {
    case .number(let from): fields.append((name: "From", value: from))
    case .messagingService(let sid): fields.append((name: "MessagingServiceSid", value: sid))
    }
    fields.append((name: "ValidityPeriod", value: String(validity)))
    if let callbacks {
      let subject = CallbackAddresses.Subject(job: attempt.identity, correlationID: attempt.correlationID)
      fields.append((name: "StatusCallback", value: callbacks.url(lane: name, subject: subject, at: attempt.startedAt)))
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

  func classify(_ response: HTTPResponse) -> Classification {
    TwilioAnswer(response, now: clock.now()).classification(table)
  }
}
