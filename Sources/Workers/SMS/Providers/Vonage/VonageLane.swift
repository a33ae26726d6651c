import CountersignEncoding
import CountersignTelemetry
import HTTPClient
import JobEngine

/// Sends through Vonage's SMS API (https://developer.vonage.com/api/sms).
///
/// Vonage always answers 200; the outcome is the status of each part. It has no idempotency key.
struct VonageLane: HTTPLane {
  let context: LaneContext
  let configuration: VonageConfiguration
  let secret: Secret
  /// `nil` if no reports are asked for.
  let addresses: ReportAddresses?

  func request(_ message: OutgoingSMS, _ attempt: JobAttempt) -> PreparedRequest<HTTPRequest> {
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
    // Reports echo it. A longer one is refused; the address of the report names the job as well.
    if attempt.jobID.utf8.count <= VonageConfiguration.maxReferenceBytes {
      fields.append((name: "client-ref", value: attempt.jobID))
    }
    if let addresses {
      fields.append((name: "status-report-req", value: "true"))
      fields.append((name: "callback", value: addresses.url(lane: name, of: attempt, form: .path)))
    }
    return .request(
      HTTPRequest(
        method: "POST", url: configuration.url,
        headers: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"],
        body: FormEncoding.encode(fields), timeouts: .within(attempt.timeout),
        maxResponseBytes: LaneRequest.maxResponseBytes))
  }

  func classify(_ response: HTTPResponse, of message: OutgoingSMS) -> Classification {
    VonageAnswer(response, now: context.clock.now()).classification(context.table)
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
    let request = LaneRequest.probe(configuration.balanceURL, authorization: "Basic " + credentials)
    return await probe(request, credentials: "apiKey and apiSecretFile") {
      guard let balance = Self.body($0, as: Balance.self) else { return nil }
      return balance.value <= 0 && balance.autoReload != true ? Self.noCredit : nil
    }
  }
}
