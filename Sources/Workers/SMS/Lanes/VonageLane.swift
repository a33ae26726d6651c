import CountersignEncoding
import CountersignTelemetry
import HTTPClient
import JobEngine

/// Sends through Vonage's SMS API (https://developer.vonage.com/api/sms).
///
/// It answers 200 whatever happens: the truth is the status of each part. It has no key that would make a second request harmless.
struct VonageLane: HTTPLane {
  let name: String
  let configuration: VonageConfiguration
  let secret: Secret
  let table: ProviderTable
  /// Where Vonage is told to report; nil when nobody wants to know.
  var callbacks: CallbackAddresses?
  let http: any HTTPCaller
  let clock: any WallClock

  func request(_ message: OutgoingSMS, _ attempt: JobAttempt) -> PreparedRequest {
    guard let seconds = LaneRequest.validity(of: attempt, within: VonageConfiguration.validity) else {
      return .impossible(LaneRequest.tooLate)
    }
    var fields = [
      (name: "api_key", value: configuration.apiKey), (name: "api_secret", value: secret.reveal()),
      (name: "from", value: LaneRequest.digits(configuration.from)),
      (name: "to", value: LaneRequest.digits(message.to)), (name: "text", value: message.text.text),
      (name: "type", value: message.text.encoding == .ucs2 ? "unicode" : "text"),
      (name: "ttl", value: String(seconds * 1000)),
    ]
    // Echoed in receipts; a longer one is refused, and the receipt is found by the message ID as well.
    if attempt.jobID.utf8.count <= VonageConfiguration.maxReferenceBytes {
      fields.append((name: "client-ref", value: attempt.jobID))
    }
    if let callbacks {
      fields.append((name: "status-report-req", value: "true"))
      fields.append((name: "callback", value: callbacks.url(lane: name, of: attempt)))
    }
    return .request(
      HTTPRequest(
        method: "POST", url: configuration.url,
        headers: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"],
        body: FormEncoding.encode(fields), timeouts: .within(attempt.timeout),
        maxResponseBytes: LaneRequest.maxResponseBytes))
  }

  func classify(_ response: HTTPResponse) -> Classification {
    VonageAnswer(response, now: clock.now()).classification(table)
  }
}

extension VonageLane {
  private struct Balance: Decodable {
    let value: Double
    let autoReload: Bool?
  }

  /// Reads the balance (https://developer.vonage.com/api/account).
  func probe() async -> ProbeResult {
    let credentials = Base64.encode(Array("\(configuration.apiKey):\(secret.reveal())".utf8))
    return await probe(LaneRequest.probe(configuration.balanceURL, authorization: "Basic " + credentials)) {
      guard let balance = Self.body($0, as: Balance.self) else { return nil }
      return balance.value <= 0 && balance.autoReload != true ? Self.noCredit : nil
    }
  }
}

/// One Vonage account and its sender.
struct VonageConfiguration: Sendable, Hashable {
  /// `ttl`, in seconds: 20 s to 7 days.
  static let validity = 20...604_800
  /// `client-ref`.
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
