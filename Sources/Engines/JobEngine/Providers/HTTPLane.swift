import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
public import HTTPClient

/// A lane that calls its provider with one HTTP request. The provider writes the request and classifies the answer. A
/// call without an answer is not repeated.
public protocol HTTPLane: ProviderLane, HTTPProviderAPI {
  var context: LaneContext { get }
}

extension HTTPLane {
  public var name: String { context.name }

  public func send(_ call: Call, _ attempt: JobAttempt) async -> Classification {
    await context.http.perform(self, call, attempt).classification
  }

  public func shutdown() async { await context.http.shutdown() }

  /// Probes the lane with a request that costs nothing: it stays down while the provider cannot be reached or refuses
  /// the credentials, so that no job has to be the trial.
  ///
  /// A successful answer does not prove the sender, which may be the reason that the lane is down. The next job decides
  /// then.
  ///
  /// - Parameters:
  ///   - request: reads a property of the account.
  ///   - credentials: keys to check when the provider refuses the credentials.
  ///   - problem: finds the account's problem in an answer of 200; `nil` if there is none.
  public func probe(
    _ request: HTTPRequest, credentials: String, problem: (HTTPResponse) -> Reason?
  ) async -> ProbeResult {
    let response: HTTPResponse
    do {
      response = try await context.http.send(request)
    } catch {
      return .down(Reason("NOT_CONNECTED", "The provider could not be reached: \(error)"))
    }
    switch response.status {
    case 200: return problem(response).map { .down($0) } ?? .cannotTell
    case 401:
      return .down(
        Reason(
          "PROVIDER_CREDENTIALS", "The provider refuses the credentials: check \(credentials).",
          providerCode: "HTTP 401"))
    // The credentials may lack the right to read this (403), and a stand-in for the provider may not have it (404).
    default: return .cannotTell
    }
  }

  /// Decodes the JSON of an answer. `nil` for another body, such as a gateway's page.
  public static func body<Body: Decodable>(_ response: HTTPResponse, as type: Body.Type) -> Body? {
    try? JSONReader.answers.decode(type, from: response.body)
  }

  public static var noCredit: Reason { Reason("PROVIDER_ACCOUNT", "The provider's account has no credit left.") }
}

/// Values and rules that the requests of several lanes share.
public enum LaneRequest {
  /// Maximum size of an answer. Those of providers are a few hundred bytes.
  public static let maxResponseBytes = 64 * 1024

  /// Seconds that a network may keep trying: the time until the deadline, within the provider's limits. `nil` if less
  /// than the provider's minimum is left.
  public static func validity(of attempt: JobAttempt, within limits: ClosedRange<Int>) -> Int? {
    let left = (attempt.deadline - attempt.startedAt).components.seconds
    guard left >= Int64(limits.lowerBound) else { return nil }
    return Int(min(left, Int64(limits.upperBound)))
  }

  /// Outcome of a job that comes too late for the provider. Most jobs of a backlog may, so the lane does not count it.
  public static let tooLate = Classification.notCalled(
    Reason("DEADLINE_TOO_NEAR", "Too little of the deadline is left for this provider's shortest validity period."),
    .tooLate)

  /// Outcome of a message that cannot be written as JSON.
  public static let unwritable = Classification.refused(
    Reason("INVALID_TEXT", "The message cannot be written as JSON."))

  /// Outcome of a success that lacks the provider's ID of the message: the page of a gateway, or of a server that
  /// `baseURL` wrongly names. Treating it as accepted would silently lose codes.
  public static func unreadable(_ status: Int) -> Classification {
    .unknown(
      Reason("PROVIDER_ERROR", "The provider's answer does not say what happened.", providerCode: "HTTP \(status)"))
  }

  /// A number for providers that do not take the plus sign.
  public static func digits(_ number: String) -> String { number.hasPrefix("+") ? String(number.dropFirst()) : number }

  /// A base URL without a slash at its end.
  public static func base(_ url: String) -> String { url.hasSuffix("/") ? String(url.dropLast()) : url }

  /// A request that reads a property of an account.
  public static func probe(_ url: String, authorization: String) -> HTTPRequest {
    HTTPRequest(
      method: "GET", url: url, headers: ["Authorization": authorization, "Accept": "application/json"],
      timeouts: .within(.seconds(5)), isIdempotent: true, maxResponseBytes: maxResponseBytes)
  }
}
