import CountersignEncoding
import FoundationEssentials
import HTTPClient
import JobEngine

extension HTTPLane {
  /// Asks for something that costs nothing: as long as the provider refuses the credentials, or cannot be reached, no job need be the
  /// trial.
  ///
  /// That it answers says nothing of the sender, which may be what the lane is down for. So the next job decides then.
  /// - Parameters:
  ///   - request: Reads something of the account.
  ///   - problem: What is wrong, by an answer of 200; nil when nothing is.
  func probe(_ request: HTTPRequest, problem: (HTTPResponse) -> Reason?) async -> ProbeResult {
    let response: HTTPResponse
    do {
      response = try await http.send(request)
    } catch {
      return .down(Reason("NOT_CONNECTED", "The provider could not be reached: \(error)"))
    }
    switch response.status {
    case 200: return problem(response).map { .down($0) } ?? .cannotTell
    case 401:
      return .down(
        Reason("PROVIDER_CREDENTIALS", "The provider refuses the credentials.", providerCode: "HTTP 401"))
    // An account may not be allowed to read this, and a stand-in for the provider may not have it.
    default: return .cannotTell
    }
  }

  /// The JSON of an answer; nil when it is another one.
  static func body<Body: Decodable>(_ response: HTTPResponse, as type: Body.Type) -> Body? {
    // Not the provider's own answer: nothing is known.
    try? JSONReader.answers.decode(type, from: response.body)
  }

  static var noCredit: Reason { Reason("PROVIDER_ACCOUNT", "The provider's account has no credit left.") }
}

extension LaneRequest {
  /// Reads something of an account.
  static func probe(_ url: String, authorization: String) -> HTTPRequest {
    HTTPRequest(
      method: "GET", url: url, headers: ["Authorization": authorization, "Accept": "application/json"],
      timeouts: .within(.seconds(5)), isIdempotent: true, maxResponseBytes: maxResponseBytes)
  }
}
