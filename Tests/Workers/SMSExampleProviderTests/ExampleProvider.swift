import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import HTTPServer
import JobEngine
import SMS
import ServiceRuntime

/// A fictional provider: lanes of type `example`.
struct ExampleProvider: SMSProvider {
  static let typeName = "example"
  static let tables = [ProviderTables.Source(typeName, sections: [.codes, .statuses, .receipts])]

  let baseURL: String
  let from: String
  let apiKey: Secret

  init(_ section: ConfigurationSection) {
    baseURL = LaneRequest.base(section.baseURL(default: "https://api.provider.example", "Where the provider is."))
    from = section.requiredFrom()
    apiKey = section.requiredSecretFile("apiKeyFile", "The account's API key, which also signs delivery reports.")
  }

  func makeLane(_ context: LaneContext, _ reports: ReportWays) -> SMSProviderLane {
    SMSProviderLane(
      ExampleLane(context: context, provider: self, addresses: reports.addresses),
      reports: ExampleReports(apiKey: apiKey, table: context.table))
  }
}

/// Sends an SMS with one request, `POST /messages`.
struct ExampleLane: HTTPLane {
  /// Limits of `validity`, in seconds.
  static let validity = 60...86_400

  let context: LaneContext
  let provider: ExampleProvider
  let addresses: ReportAddresses?

  private struct Body: Encodable {
    let from: String
    let to: String
    let text: String
    let validity: Int
    let reportTo: String?
  }

  private struct Answer: Decodable {
    let id: String?
    let error: String?
  }

  func request(_ message: OutgoingSMS, _ attempt: JobAttempt) -> PreparedRequest<HTTPRequest> {
    guard let validity = LaneRequest.validity(of: attempt, within: Self.validity) else {
      return .impossible(LaneRequest.tooLate)
    }
    let body = Body(
      from: provider.from, to: message.to, text: message.text.text, validity: validity,
      reportTo: addresses?.url(lane: name, of: attempt, form: .query))
    guard let json = try? JSONEncoder().encode(body) else { return .impossible(LaneRequest.unwritable) }
    return .request(
      HTTPRequest(
        method: "POST", url: provider.baseURL + "/messages",
        headers: ["Authorization": "Bearer " + provider.apiKey.reveal(), "Content-Type": "application/json"],
        body: Array(json), timeouts: .within(attempt.timeout), maxResponseBytes: LaneRequest.maxResponseBytes))
  }

  func classify(_ response: HTTPResponse, of message: OutgoingSMS) -> Classification {
    let answer = ProviderResponse<Answer>(response, now: context.clock.now())
    guard answer.isSuccess else { return answer.classification(context.table, code: answer.body?.error) }
    return answer.body?.id.map { .accepted(reference: $0) } ?? LaneRequest.unreadable(answer.status)
  }
}

/// Reads the provider's delivery reports: a form, `id=…&status=delivered` or `id=…&status=failed&error=…`, with an HMAC
/// over the address and the form in the header `Example-Signature`.
struct ExampleReports: ProviderReportReader {
  let apiKey: Secret
  let table: ProviderTable
  let methods = ["POST"]

  func read(_ request: HTTPServerRequest, url: String, now: UnixTime) throws(ReportRefusal) -> ReportReading {
    let signature = HMACSHA256.authenticate(Array(url.utf8) + request.body, key: Array(apiKey.reveal().utf8))
    guard let given = request.headers["Example-Signature"].flatMap({ Base64.decode($0) }),
      constantTimeEquals(given, signature)
    else { throw .forged }
    let fields = FormEncoding.decode(request.body)
    func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }
    switch value("status") {
    case nil: throw .malformed
    case "delivered": return .end(.delivered, reference: value("id"), reason: nil, at: nil)
    case "failed":
      let reason = value("error").flatMap { table.receiptReason(code: $0) }
      return .end(.undelivered, reference: value("id"), reason: reason, at: nil)
    default: return .progress
    }
  }
}
