import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import JobEngine

/// Hands messages to a receiver of the operator's own by Standard Webhooks (https://www.standardwebhooks.com, version
/// 1.0.0).
///
/// `POST` with a JSON body (`WebhookPayload`) and the headers `webhook-id`, `webhook-timestamp` and
/// `webhook-signature`. The ID is derived from the job's and the same on every try, so that a receiver recognizes a
/// repetition.
struct WebhookLane: HTTPLane {
  let context: LaneContext
  let deduplicates: Bool
  let url: String
  let from: String?
  let signer: WebhookSigner

  func request(_ message: OutgoingSMS, _ attempt: JobAttempt) -> PreparedRequest<HTTPRequest> {
    guard let body = try? WebhookPayload(message, from: from, attempt).json() else {
      return .impossible(LaneRequest.unwritable)
    }
    let timestamp = String(attempt.startedAt.seconds)
    let id = WebhookID.make(for: attempt)
    return .request(
      HTTPRequest(
        method: "POST", url: url,
        headers: HTTPHeaders([
          (name: "Content-Type", value: "application/json"),
          (name: "Accept", value: "application/json"),
          (name: "webhook-id", value: id),
          (name: "webhook-timestamp", value: timestamp),
          (name: "webhook-signature", value: signer.signature(id: id, timestamp: timestamp, body: body)),
        ]),
        body: body, timeouts: .within(attempt.timeout), maxResponseBytes: LaneRequest.maxResponseBytes))
  }

  func classify(_ response: HTTPResponse, of message: OutgoingSMS) -> Classification {
    if response.status / 100 == 2 { return .accepted(reference: WebhookAnswer.reference(response.body)) }
    return ProviderResponse<IgnoredBody>(response, now: context.clock.now()).classification(context.table)
  }

  /// Repeats the call: a receiver that deduplicates answers with the outcome of the first one.
  func lookUp(_ message: OutgoingSMS, _ attempt: JobAttempt) async -> Classification? {
    guard deduplicates else { return nil }
    switch await send(message, attempt) {
    case .accepted(let reference, let extras): return .accepted(reference: reference, extras: extras)
    case .refused(let reason, let extras): return .refused(reason, extras: extras)
    // None of these is the outcome of the earlier call.
    case .otherLane, .retry, .unknown, .lost, .continued, .laneDown, .notCalled: return nil
    }
  }
}

/// Makes the header `webhook-id` of a job: `msg_` and 32 letters, digits, hyphens and underscores, the same on every
/// try.
///
/// It is a hash of sender and ID. A job's own ID may contain full stops, which would make a signature over
/// `id.timestamp.body` valid for another timestamp and body. That ID is `data.id` of the payload.
enum WebhookID {
  /// 192 bits, too many for a collision.
  private static let bytes = 24

  static func make(for attempt: JobAttempt) -> String {
    "msg_" + Base64URL.encode(Array(SHA256.hash(Array(attempt.job.key.utf8)).prefix(bytes)))
  }
}
