import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

struct MessageBirdAnswer: Sendable {
  private let response: ProviderResponse<Body>

  private struct Body: Decodable {
    let id: String?
    let recipients: Recipients?
    let errors: [Problem]?
  }

  private struct Recipients: Decodable { let totalSentCount: Int? }

  /// The description is not read: it may repeat the request.
  private struct Problem: Decodable {
    let code: Int
    let parameter: String?
  }

  init(_ response: HTTPResponse, now: UnixTime) {
    self.response = ProviderResponse(response, now: now)
  }

  func classification(_ table: ProviderTable) -> Classification {
    let body = response.body
    if response.isSuccess, body?.errors == nil {
      // The message has no recipient.
      if body?.recipients?.totalSentCount == 0 { return table.classification(status: 400) }
      return body?.id.map { .accepted(reference: $0) } ?? LaneRequest.unreadable(response.status)
    }
    let status = response.isSuccess ? 400 : response.status
    return table.classification(status: status, code: code(table, status), retryAfter: response.retryAfter)
  }

  /// `10.recipients` if the table lists it, else `10`: the invalid parameter decides whose fault it is.
  private func code(_ table: ProviderTable, _ status: Int) -> String? {
    guard let problem = response.body?.errors?.first else { return nil }
    let code = String(problem.code)
    guard let parameter = problem.parameter else { return code }
    let exact = "\(code).\(parameter)"
    return table.rule(code: exact, status: status).isOfCode ? exact : code
  }
}
