import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPServer
import JobEngine

/// Reads Twilio's status callbacks (https://www.twilio.com/docs/messaging/guides/track-outbound-message-status).
struct TwilioReports: ProviderReportReader {
  let signature: TwilioSignature
  let table: ProviderTable
  let methods = ["POST"]

  func read(_ request: HTTPServerRequest, url: String, now: UnixTime) throws(ReportRefusal) -> ReportReading {
    let fields = FormEncoding.decode(request.body)
    guard let given = request.headers["X-Twilio-Signature"], signature.isValid(given, url: url, fields: fields) else {
      throw .forged
    }
    func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }
    guard let status = value("MessageStatus") ?? value("SmsStatus") else { throw .malformed }
    let reference = value("MessageSid") ?? value("SmsSid")
    switch status {
    case "delivered", "read": return .end(.delivered, reference: reference, reason: nil, at: nil)
    case "undelivered", "failed", "canceled":
      return .end(.undelivered, reference: reference, reason: reason(value("ErrorCode")), at: nil)
    // queued, sending, sent, accepted, scheduled, and any status that Twilio adds.
    default: return .progress
    }
  }

  private func reason(_ code: String?) -> Reason? {
    guard let code, !code.isEmpty, code != "0" else { return nil }
    let (rule, isOfCode) = table.rule(code: code, status: 400)
    guard isOfCode else { return Reason("UNDELIVERED", "Twilio could not deliver the message.", providerCode: code) }
    return Reason(rule.reason, rule.detail, providerCode: code)
  }
}
