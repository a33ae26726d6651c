import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// What MessageBird answered: a message, or errors.
struct MessageBirdAnswer: Sendable {
  private let status: Int
  private let retryAfter: Duration?
  private let body: Body?

  private struct Body: Decodable {
    let id: String?
    let recipients: Recipients?
    let errors: [Problem]?
  }

  private struct Recipients: Decodable { let totalSentCount: Int? }

  /// The description is not read: it may repeat what was sent.
  private struct Problem: Decodable {
    let code: Int
    let parameter: String?
  }

  init(_ response: HTTPResponse, now: UnixTime) {
    status = response.status
    retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.parse($0, now: now) }
    // A gateway's page in the place of an answer: the status has to do.
    body = try? JSONReader.answers.decode(Body.self, from: response.body)
  }

  func classification(_ table: ProviderTable) -> Classification {
    if status / 100 == 2, body?.errors == nil {
      // A message for nobody.
      if body?.recipients?.totalSentCount == 0 { return ProviderAnswer(status: 400).classification(table) }
      return body?.id.map { .accepted(reference: $0) } ?? LaneRequest.unreadable(status)
    }
    let failure = status / 100 == 2 ? 400 : status
    return ProviderAnswer(status: failure, code: code(table, failure), retryAfter: retryAfter).classification(table)
  }

  /// `10.recipients` when the table has it, else `10`: which parameter is invalid decides whose fault it is.
  private func code(_ table: ProviderTable, _ status: Int) -> String? {
    guard let problem = body?.errors?.first else { return nil }
    let code = String(problem.code)
    guard let parameter = problem.parameter else { return code }
    let exact = "\(code).\(parameter)"
    return table.rule(code: exact, status: status).isOfCode ? exact : code
  }
}
