import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import HTTPServer
import JobEngine

/// Answers providers that report on messages: checks the report, publishes what it says, and only then says yes.
struct ReceiptEndpoint: Sendable {
  let addresses: CallbackAddresses
  /// By the lane's name.
  let sources: [String: any ReceiptSource]
  let publisher: ReceiptPublisher
  let metrics: ReceiptMetrics
  let clock: any WallClock
  var gate = TrialGate.process

  func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    await gate.aside { await respond(to: request) }
  }

  private func respond(to request: HTTPServerRequest) async -> HTTPServerResponse {
    let lane = CallbackAddresses.lane(of: request)
    do throws(ReceiptRefusal) {
      guard let source = sources[lane] else { throw .unknownLane }
      guard source.methods.contains(request.method) else {
        return HTTPServerResponse(status: 405, headers: ["Allow": source.methods.joined(separator: ", ")])
      }
      return await take(try read(request, lane, source), source)
    } catch {
      metrics.refused(error, lane: sources[lane] == nil ? nil : lane)
      return HTTPServerResponse(status: error.status, text: error.text)
    }
  }

  /// - Returns: nil when the message is still on its way.
  private func read(
    _ request: HTTPServerRequest, _ lane: String, _ source: any ReceiptSource
  ) throws(ReceiptRefusal) -> PendingReceipt? {
    let now = clock.now()
    let told = try told(request, lane, now)
    guard case .end(let state, let reference, let reason, let at) = try source.read(request, url: told.url, now: now)
    else {
      metrics.progress(lane: lane)
      return nil
    }
    let delivery = SMSDeliveryReport(
      jobID: told.subject.job.messageID, state: state, lane: lane, reference: reference,
      reason: reason.map(JobResult.Reason.init), at: min(at ?? now, now))
    return PendingReceipt(
      delivery: delivery, correlationID: told.subject.correlationID, sender: told.subject.job.sender)
  }

  private func told(
    _ request: HTTPServerRequest, _ lane: String, _ now: UnixTime
  ) throws(ReceiptRefusal) -> CallbackAddresses.Told {
    do throws(CallbackAddresses.Refusal) {
      return try addresses.told(request, lane: lane, now: now)
    } catch {
      throw error == .stale ? .stale : .forged
    }
  }

  /// A report that is not on the broker is refused, so that the provider sends it again.
  private func take(_ receipt: PendingReceipt?, _ source: any ReceiptSource) async -> HTTPServerResponse {
    guard let receipt else { return HTTPServerResponse(status: source.takenStatus) }
    guard await publisher.publish(receipt, now: clock.now()) else {
      metrics.lost(lane: receipt.delivery.lane)
      return HTTPServerResponse(status: 503, headers: ["Retry-After": "5"])
    }
    metrics.taken(receipt.delivery)
    return HTTPServerResponse(status: source.takenStatus)
  }
}

/// A report that was believed and is to be published.
struct PendingReceipt: Sendable, Hashable {
  var delivery: SMSDeliveryReport
  var correlationID: String?
  /// The user that sent the job; nil when nobody knows which job it is about.
  var sender: String?
}

extension ReceiptRefusal {
  fileprivate var status: Int {
    switch self {
    case .forged, .stale: 403
    case .malformed: 400
    case .unknownLane: 404
    }
  }

  fileprivate var text: String {
    switch self {
    case .forged: "the signature is not right\n"
    case .stale: "the report is of another time\n"
    case .malformed: "the report cannot be read\n"
    case .unknownLane: "there is no such lane\n"
    }
  }
}
