import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// What Vonage answered: a status for each part of the message.
struct VonageAnswer: Sendable {
  private let status: Int
  private let retryAfter: Duration?
  private let parts: [Part]

  private struct Body: Decodable { let messages: [Part] }

  /// The text of an error is not read: it repeats numbers.
  private struct Part: Decodable {
    let status: String
    let id: String?

    enum CodingKeys: String, CodingKey {
      case status
      case id = "message-id"
    }
  }

  private static let success = "0"

  init(_ response: HTTPResponse, now: UnixTime) {
    status = response.status
    retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.parse($0, now: now) }
    // A gateway's page in the place of an answer: the status has to do.
    parts = (try? JSONReader.answers.decode(Body.self, from: response.body).messages) ?? []
  }

  func classification(_ table: ProviderTable) -> Classification {
    guard status / 100 == 2 else {
      return ProviderAnswer(status: status, code: parts.first?.status, retryAfter: retryAfter).classification(table)
    }
    let failed = parts.filter { $0.status != Self.success }
    guard let first = failed.first else {
      return parts.isEmpty ? LaneRequest.unreadable(status) : .accepted(reference: parts[0].id)
    }
    if failed.count < parts.count {
      return .unknown(
        Reason(
          "PARTLY_SENT", "The provider took \(parts.count - failed.count) of \(parts.count) parts of the message.",
          providerCode: first.status))
    }
    return classification(failed, table)
  }

  /// No part was taken: unless one of them leaves that open.
  private func classification(_ failed: [Part], _ table: ProviderTable) -> Classification {
    // The HTTP status says success; a code that the table does not have is a refusal.
    let all = failed.map { ProviderAnswer(status: 400, code: $0.status).classification(table) }
    return all.first { if case .unknown = $0 { true } else { false } } ?? all[0]
  }
}
