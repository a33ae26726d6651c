import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import HTTPServer
import JobEngine

/// Verifies a report, publishes it, and only then confirms it.
struct ReportEndpoint: Sendable {
  let addresses: ReportAddresses
  let readers: [String: any ProviderReportReader]
  let publisher: ReportPublisher
  let metrics: ReportMetrics
  let clock: any WallClock
  var gate = TrialGate.process

  func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    await gate.aside { await respond(to: request) }
  }

  private func respond(to request: HTTPServerRequest) async -> HTTPServerResponse {
    let lane = ReportAddresses.lane(of: request)
    do throws(ReportRefusal) {
      guard let reader = readers[lane] else { throw .unknownLane }
      guard reader.methods.contains(request.method) else {
        return HTTPServerResponse(status: 405, headers: ["Allow": reader.methods.joined(separator: ", ")])
      }
      return await publish(try read(request, lane, reader), reader)
    } catch {
      metrics.countRefused(error, lane: readers[lane] == nil ? nil : lane)
      return HTTPServerResponse(status: error.status, text: error.text)
    }
  }

  private func read(
    _ request: HTTPServerRequest, _ lane: String, _ reader: any ProviderReportReader
  ) throws(ReportRefusal) -> PendingReport? {
    let now = clock.now()
    let resolution = try resolve(request, lane, now)
    guard
      case .end(let state, let reference, let reason, let at) = try reader.read(request, url: resolution.url, now: now)
    else {
      metrics.countProgress(lane: lane)
      return nil
    }
    let delivery = SMSDeliveryReport(
      jobID: resolution.subject.job.messageID, state: state, lane: lane, reference: reference,
      reason: reason.map(JobResult.Reason.init), at: min(at ?? now, now))
    return PendingReport(
      delivery: delivery, correlationID: resolution.subject.correlationID, sender: resolution.subject.job.sender)
  }

  private func resolve(
    _ request: HTTPServerRequest, _ lane: String, _ now: UnixTime
  ) throws(ReportRefusal) -> ReportAddresses.Resolution {
    do throws(ReportAddresses.Refusal) {
      return try addresses.resolve(request, lane: lane, now: now)
    } catch {
      throw error == .stale ? .stale : .forged
    }
  }

  /// One that the broker does not confirm is refused, so that the provider sends it again.
  private func publish(_ report: PendingReport?, _ reader: any ProviderReportReader) async -> HTTPServerResponse {
    guard let report else { return HTTPServerResponse(status: reader.takenStatus) }
    guard await publisher.publish(report, now: clock.now()) else {
      metrics.countUnpublished(lane: report.delivery.lane)
      return HTTPServerResponse(status: 503, headers: ["Retry-After": "5"])
    }
    metrics.countTaken(report.delivery)
    return HTTPServerResponse(status: reader.takenStatus)
  }
}

struct PendingReport: Sendable, Hashable {
  var delivery: SMSDeliveryReport
  var correlationID: String?
  /// `nil` if the job is not known.
  var sender: String?
}

extension ReportRefusal {
  fileprivate var status: Int {
    switch self {
    case .forged, .stale: 403
    case .malformed: 400
    case .unknownLane: 404
    }
  }

  fileprivate var text: String {
    switch self {
    case .forged: "the signature is not valid\n"
    case .stale: "the timestamp is outside the accepted window\n"
    case .malformed: "the report cannot be read\n"
    case .unknownLane: "there is no such lane\n"
    }
  }
}
