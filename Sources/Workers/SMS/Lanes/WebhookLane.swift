import CountersignCryptography
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
public import JobEngine

/// Hands messages to a receiver of one's own by Standard Webhooks (https://www.standardwebhooks.com, version 1.0.0).
///
/// `POST` with a JSON body (`WebhookPayload`) and the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. The
/// ID is made of the job's, the same on every try, so that a receiver can tell a repetition.
public struct WebhookLane: SMSLane {
  public let name: String
  public let deduplicates: Bool

  private let url: String
  private let from: String?
  private let signer: WebhookSigner
  private let table: ProviderTable
  private let http: any HTTPCaller
  private let clock: any WallClock

  /// - Parameters:
  ///   - url: Where to post.
  ///   - from: What the payload says as `from`.
  ///   - signer: Signs with every secret of the lane.
  ///   - deduplicates: Whether the receiver promises one message for one `webhook-id`.
  init(
    name: String, url: String, from: String?, signer: WebhookSigner, deduplicates: Bool, table: ProviderTable,
    http: any HTTPCaller, clock: any WallClock
  ) {
    self.name = name
    self.deduplicates = deduplicates
    self.url = url
    self.from = from
    self.signer = signer
    self.table = table
    self.http = http
    self.clock = clock
  }

  public func send(_ message: OutgoingSMS, _ attempt: JobAttempt) async -> Classification {
    let request: HTTPRequest
    do {
      request = try self.request(message, attempt)
    } catch {
      return .refused(Reason("INVALID_TEXT", "The message cannot be written as JSON."))
    }
    do {
      return classify(try await http.send(request))
    } catch {
      return error.classification
    }
  }

  /// A receiver that deduplicates tells what became of an earlier call when it gets the same one again.
  public func lookUp(_ message: OutgoingSMS, _ attempt: JobAttempt) async -> Classification? {
    guard deduplicates else { return nil }
    switch await send(message, attempt) {
    case .accepted(let reference, let extras): return .accepted(reference: reference, extras: extras)
    case .refused(let reason, let extras): return .refused(reason, extras: extras)
    // None of these says what became of the earlier call.
    case .otherLane, .retry, .unknown, .lost, .continued, .laneDown, .notCalled: return nil
    }
  }

  private func request(_ message: OutgoingSMS, _ attempt: JobAttempt) throws -> HTTPRequest {
    let body = try WebhookPayload(message, from: from, attempt).json()
    let timestamp = String(attempt.startedAt.seconds)
    let id = WebhookID.make(for: attempt)
    return HTTPRequest(
      method: "POST", url: url,
      headers: HTTPHeaders([
        (name: "Content-Type", value: "application/json"),
        (name: "Accept", value: "application/json"),
        (name: "webhook-id", value: id),
        (name: "webhook-timestamp", value: timestamp),
        (name: "webhook-signature", value: signer.signature(id: id, timestamp: timestamp, body: body)),
      ]),
      body: body, timeouts: .within(attempt.timeout), maxResponseBytes: Self.maxResponseBytes)
  }

  private static let maxResponseBytes = 64 * 1024

  private func classify(_ response: HTTPResponse) -> Classification {
    if response.status / 100 == 2 { return .accepted(reference: WebhookAnswer.reference(response.body)) }
    let retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.parse($0, now: clock.now()) }
    return ProviderAnswer(status: response.status, retryAfter: retryAfter)
      .classification(table)
  }
}
