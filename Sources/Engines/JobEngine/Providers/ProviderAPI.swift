public import HTTPClient

/// The synchronous half of a provider: the request for a call, and the meaning of the answer.
///
/// Neither does any I/O, so both are tested with plain values; the call in between is the engine's.
public protocol ProviderAPI: Sendable {
  /// Everything one call is about: the job, and what the request needs besides.
  associatedtype Call: Sendable
  associatedtype Request: Sendable
  associatedtype Response: Sendable

  /// The request for one call, or the reason there is none.
  ///
  /// - Parameters:
  ///   - call: job to carry out.
  ///   - attempt: identity of the job, and the time the call may take.
  func request(_ call: Call, _ attempt: JobAttempt) -> PreparedRequest<Request>

  /// The meaning of the answer for the job.
  func classify(_ response: Response, of call: Call) -> Classification
}

/// Request for one call of a provider.
public enum PreparedRequest<Request: Sendable>: Sendable {
  case request(Request)
  /// Nothing is sent. The job ends or waits as the classification says.
  case impossible(Classification)
}

/// A provider that is called with one HTTP request.
public protocol HTTPProviderAPI: ProviderAPI where Request == HTTPRequest, Response == HTTPResponse {}

/// HTTP as a lane needs it: one request, one response. `HTTPClient` is the implementation that ships.
public protocol HTTPCaller: Sendable {
  /// Sends one request and waits for its response.
  ///
  /// - Throws: when no response came; the error says whether the request may have left.
  func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse

  /// Fails the requests in flight, and closes the connections. The default has none.
  func shutdown() async
}

extension HTTPClient: HTTPCaller {}

extension HTTPCaller {
  public func shutdown() async {}

  /// Carries out one call, once: a call without a clear answer is not repeated here.
  ///
  /// - Parameters:
  ///   - api: provider to call.
  ///   - call: job to carry out.
  ///   - attempt: identity of the job, and the time the call may take.
  public func perform<API: HTTPProviderAPI>(
    _ api: API, _ call: API.Call, _ attempt: JobAttempt
  ) async -> HTTPOutcome {
    switch api.request(call, attempt) {
    case .impossible(let classification): return .notSent(classification)
    case .request(let request):
      do {
        let response = try await send(request)
        return .answered(api.classify(response, of: call), status: response.status)
      } catch {
        return .unanswered(error)
      }
    }
  }
}

/// Outcome of one HTTP call.
public enum HTTPOutcome: Sendable {
  /// There was no request to send.
  case notSent(Classification)
  /// The provider answered.
  case answered(Classification, status: Int)
  /// No response came.
  case unanswered(TransportError)

  /// The meaning for the job.
  public var classification: Classification {
    switch self {
    case .notSent(let classification), .answered(let classification, _): classification
    case .unanswered(let error): error.classification
    }
  }
}

extension TransportError {
  /// The meaning of a call without a response: unknown, unless no byte of the request can have left.
  public var classification: Classification {
    if requestMayHaveLeft { return .unknown(Reason("NO_ANSWER", "The provider did not answer: \(description)")) }
    switch kind {
    case .invalidRequest:
      return .notCalled(Reason("INVALID_REQUEST", "No request can be made of this job: \(description)"), .impossible)
    case .overloaded:
      return .notCalled(Reason("LANE_BUSY", "Too many calls wait for a connection: \(description)"), .busy)
    case .certificate:
      return .laneDown(Reason("CERTIFICATE_REFUSED", "The provider's certificate, or ours, is refused: \(description)"))
    case .resolve, .connect, .tls, .send, .receive, .timedOut, .tooLarge, .canceled, .http2, .closed, .other:
      return .retry(Reason("NOT_CONNECTED", "The provider could not be reached: \(description)"))
    }
  }
}

extension HTTPTimeouts {
  /// Timeouts of a call that ends within `total`. Connecting gives up earlier, so that an unreachable lane leaves time
  /// for another one.
  public static func within(_ total: Duration) -> HTTPTimeouts {
    let total = max(total, .milliseconds(1))
    return HTTPTimeouts(connect: min(.seconds(3), total), total: total)
  }
}
