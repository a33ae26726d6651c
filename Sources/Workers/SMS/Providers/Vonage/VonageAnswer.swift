import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// An answer of Vonage: a status for each part of the message.
struct VonageAnswer: Sendable {
  private let response: ProviderResponse<Body>

  private var parts: [Part] { response.body?.messages ?? [] }

  private struct Body: Decodable { let messages: [Part] }

  /// The text of an error is not read: it repeats phone numbers.
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
    self.response = ProviderResponse(response, now: now)
  }

  func classification(_ table: ProviderTable) -> Classification {
    guard response.isSuccess else { return response.classification(table, code: parts.first?.status) }
    let failed = parts.filter { $0.status != Self.success }
    guard let first = failed.first else {
      return parts.isEmpty ? LaneRequest.unreadable(response.status) : .accepted(reference: parts[0].id)
    }
    if failed.count < parts.count {
      return .unknown(
        Reason(
          "PARTLY_SENT", "The provider accepted \(parts.count - failed.count) of \(parts.count) parts of the message.",
          providerCode: first.status))
    }
    return classification(failed, table)
  }

  /// Classifies a message of which no part was taken, or of which a part leaves that open.
  private func classification(_ failed: [Part], _ table: ProviderTable) -> Classification {
    // The HTTP status is a success, so a code that the table lacks counts as a refusal.
    let all = failed.map { table.classification(status: 400, code: $0.status) }
    return all.first { if case .unknown = $0 { true } else { false } } ?? all[0]
  }
}
