import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPServer
import JobEngine

/// Reads MessageBird's status reports
/// (https://developers.messagebird.com/api/sms-messaging/#handle-a-status-report): the query of a GET,
/// `id=…&reference=…&recipient=…&status=delivered&statusDatetime=…`.
struct MessageBirdReports: ProviderReportReader {
  let signature: MessageBirdSignature
  let table: ProviderTable
  let methods = ["GET", "POST"]
  /// MessageBird repeats a report up to ten times until it gets exactly this status.
  let takenStatus = 200

  func read(_ request: HTTPServerRequest, url: String, now: UnixTime) throws(ReportRefusal) -> ReportReading {
    try signature.check(request, url: url, now: now)
    let fields = request.query + FormEncoding.decode(request.body)
    func value(_ name: String) -> String? { fields.first { $0.name == name && !$0.value.isEmpty }?.value }
    guard let status = value("status") else { throw .malformed }
    let at = value("statusDatetime").flatMap { UnixTime(rfc3339: $0) }
    switch status {
    case "delivered": return .end(.delivered, reference: value("id"), reason: nil, at: at)
    case "expired", "delivery_failed":
      return .end(.undelivered, reference: value("id"), reason: reason(status, value("statusErrorCode")), at: at)
    // scheduled, sent, buffered, and any status that MessageBird adds.
    default: return .progress
    }
  }

  private func reason(_ status: String, _ code: String?) -> Reason {
    if let code, let reason = table.receiptReason(code: code) { return reason }
    return status == "expired"
      ? Reason("UNREACHABLE", "The handset could not be reached as long as the message was valid.", providerCode: code)
      : Reason("UNDELIVERABLE", "The network could not deliver the message.", providerCode: code)
  }
}
