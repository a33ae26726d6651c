import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import HTTPServer
import JobEngine
import ServiceRuntime

/// Reads Vonage's delivery receipts (https://developer.vonage.com/messaging/sms/guides/delivery-receipts): the query of
/// a GET, or the form or JSON of a POST, depending on the account's settings. Accounts that use the Messages API report
/// with the JSON of that API.
///
/// A message of several segments is reported segment by segment.
struct VonageReports: ProviderReportReader {
  let signature: VonageSignature
  let table: ProviderTable
  let methods = ["GET", "POST"]

  func read(_ request: HTTPServerRequest, url: String, now: UnixTime) throws(ReportRefusal) -> ReportReading {
    let fields = try Self.fields(request)
    try signature.check(request, fields, now: now)
    func value(_ name: String) -> String? { fields.first { $0.name == name && !$0.value.isEmpty }?.value }
    guard let status = value("status") else { throw .malformed }
    let reference = value("messageId") ?? value("message_uuid")
    let at = Self.time(value("message-timestamp") ?? value("timestamp"))
    switch status {
    case "delivered": return .end(.delivered, reference: reference, reason: nil, at: at)
    case "expired", "failed", "rejected", "undeliverable":
      return .end(.undelivered, reference: reference, reason: reason(status, value("err-code")), at: at)
    // accepted, buffered, submitted, unknown, and any status that Vonage adds.
    default: return .progress
    }
  }

  private func reason(_ status: String, _ code: String?) -> Reason {
    if let code, let reason = table.receiptReason(code: code) { return reason }
    switch status {
    case "expired":
      return Reason(
        "UNREACHABLE", "The handset could not be reached as long as the message was valid.", providerCode: code)
    case "rejected": return Reason("BLOCKED", "The network rejected the message.", providerCode: code)
    default: return Reason("UNDELIVERABLE", "The network could not deliver the message.", providerCode: code)
    }
  }

  /// Time of a report: `2018-10-25 12:10:29` in UTC, RFC 3339 (Messages API), or seconds since 1970.
  private static func time(_ text: String?) -> UnixTime? {
    guard let text else { return nil }
    if let seconds = Int64(text) { return UnixTime(seconds: seconds) }
    return UnixTime(rfc3339: text) ?? UnixTime(rfc3339: text + "Z")
  }

  /// The server accepts bodies up to this size.
  private static let reader = JSONReader(maxBytes: ReportService.maxBodyBytes)

  private static func fields(_ request: HTTPServerRequest) throws(ReportRefusal) -> [(name: String, value: String)] {
    guard request.method == "POST" else { return request.query }
    guard request.headers["Content-Type"]?.lowercased().hasPrefix("application/json") == true else {
      return FormEncoding.decode(request.body)
    }
    do {
      return try reader.decode([String: Scalar].self, from: request.body)
        .compactMap { name, scalar in scalar.text.map { (name: name, value: $0) } }
    } catch {
      throw .malformed
    }
  }

  /// Arrays and objects are skipped.
  private struct Scalar: Decodable {
    let text: String?

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      // Only texts and whole numbers are used.
      text = (try? container.decode(String.self)) ?? (try? container.decode(Int64.self)).map(String.init)
    }
  }
}
