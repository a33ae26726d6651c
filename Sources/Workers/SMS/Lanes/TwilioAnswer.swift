import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// What Twilio answered.
struct TwilioAnswer: Sendable {
  private let status: Int
  private let body: Body?
  private let retryAfter: Duration?

  /// The fields of a message resource, and those of an error (`{code, message, more_info, status}`). The messages are not
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

    /// The resource of a message that was taken; nil for whatever else it may be.
    init?(_ json: PlainJSON) {
      guard let sid = json.text("sid"), let word = json.text("status"), !json.has("code"), !json.has("error_code")
      else { return nil }
      self.sid = sid
      status = .message(word)
      code = nil
      errorCode = nil
    }

    /// A message's status is a word, an error's the HTTP status.
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
    status = response.status
    retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.parse($0, now: now) }
    if let plain = PlainJSON(response.body), let message = Body(plain) {
      body = message
      return
    }
    do {
      body = try JSONReader.answers.decode(Body.self, from: response.body)
    } catch {
      // A gateway's page in the place of an answer: the status has to do.
      body = nil
    }
  }

  func classification(_ table: ProviderTable) -> Classification {
    if status / 100 == 2 {
      if hasFailed {
        return ProviderAnswer(status: 400, code: body?.errorCode.map(String.init)).classification(table)
      }
      return body?.sid.map { .accepted(reference: $0) } ?? LaneRequest.unreadable(status)
    }
    let answer = ProviderAnswer(status: status, code: body?.code.map(String.init), retryAfter: retryAfter)
    return answer.classification(table)
  }

  /// A message can be created and have failed already.
  private var hasFailed: Bool {
    guard case .message(let word) = body?.status else { return false }
    return ["failed", "undelivered", "canceled"].contains(word)
  }
}
