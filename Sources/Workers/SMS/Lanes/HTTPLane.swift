import CountersignTelemetry
import HTTPClient
import JobEngine

/// A lane that hands a message over with one HTTP request. What it does with an answer that does not come is the same for all:
/// nothing is repeated here.
protocol HTTPLane: SMSLane {
  var http: any HTTPCaller { get }

  /// The request for one message, or why there can be none.
  func request(_ message: OutgoingSMS, _ attempt: JobAttempt) -> PreparedRequest

  /// What the answer means.
  func classify(_ response: HTTPResponse) -> Classification
}

/// What a lane makes of a message.
enum PreparedRequest {
  case request(HTTPRequest)
  case impossible(Classification)
}

extension HTTPLane {
  func send(_ message: OutgoingSMS, _ attempt: JobAttempt) async -> Classification {
    switch request(message, attempt) {
    case .impossible(let classification): return classification
    case .request(let request):
      do {
        return classify(try await http.send(request))
      } catch {
        return error.classification
      }
    }
  }
}

/// What the lanes' requests have in common.
enum LaneRequest {
  /// Answers of providers are a few hundred bytes.
  static let maxResponseBytes = 64 * 1024

  /// How long a network may keep trying, in seconds: until the deadline, within the provider's limits. Nil when less than the
  /// provider's shortest is left.
  static func validity(of attempt: JobAttempt, within limits: ClosedRange<Int>) -> Int? {
    let left = (attempt.deadline - attempt.startedAt).components.seconds
    guard left >= Int64(limits.lowerBound) else { return nil }
    return Int(min(left, Int64(limits.upperBound)))
  }

  /// After a backlog most jobs may be so late, which says nothing about the lane.
  static let tooLate = Classification.notCalled(
    Reason("DEADLINE_TOO_NEAR", "Too little of the deadline is left for this provider's shortest validity period."),
    .tooLate)

  /// A success without the provider's ID of the message is no answer of the provider, but the page of a gateway before it, or of a
  /// server that `baseURL` wrongly names. Taken for accepted, codes would be lost and nobody would know.
  static func unreadable(_ status: Int) -> Classification {
    .unknown(
      Reason("PROVIDER_ERROR", "The provider's answer does not say what happened.", providerCode: "HTTP \(status)"))
  }

  /// A number as providers want it that do not take the plus sign.
  static func digits(_ number: String) -> String { number.hasPrefix("+") ? String(number.dropFirst()) : number }

  static func base(_ url: String) -> String { url.hasSuffix("/") ? String(url.dropLast()) : url }
}
