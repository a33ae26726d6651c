import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

struct TwilioAnswer: Sendable {
  private let response: ProviderResponse<Body>

  /// Fields of a message resource and of an error (`{code, message, more_info, status}`). The texts of errors are not
  /// read: they repeat phone numbers.
  private struct Body: Decodable {
    let sid: String?
    let status: Status?
    let code: Int?
    let errorCode: Int?

    enum CodingKeys: String, CodingKey {
      case sid, status, code
      case errorCode = "error_code"
    }

    /// The resource of a message that was taken. `nil` for any other JSON.
    init?(_ json: PlainJSON) {
      guard let sid = json.text("sid"), let word = json.text("status"), !json.has("code"), !json.has("error_code")
      else { return nil }
      self.sid = sid
      status = .message(word)
      code = nil
      errorCode = nil
    }

    /// Status of a message, which is a word, or of an error, which is the HTTP status.
    enum Status: Decodable {
      case message(String)
      case http

      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do {
          self = .message(try container.decode(String.self))
        } catch {
          self = .http
        }
      }
    }
  }

  init(_ response: HTTPResponse, now: UnixTime) {
    self.response = ProviderResponse(response, now: now) { body in
      PlainJSON(body).flatMap { Body($0) } ?? (try? JSONReader.answers.decode(Body.self, from: body))
    }
  }

  func classification(_ table: ProviderTable) -> Classification {
    let body = response.body
    guard response.isSuccess else { return response.classification(table, code: body?.code.map(String.init)) }
    if hasFailed { return table.classification(status: 400, code: body?.errorCode.map(String.init)) }
    return body?.sid.map { .accepted(reference: $0) } ?? LaneRequest.unreadable(response.status)
  }

  private var hasFailed: Bool {
    guard case .message(let word) = response.body?.status else { return false }
    return ["failed", "undelivered", "canceled"].contains(word)
  }
}
