public import HTTPClient

/// What a lane needs of HTTP: one request, one answer. `HTTPClient` is the one that ships.
public protocol HTTPCaller: Sendable {
  /// Sends one request, and suspends until it is answered.
  ///
  /// - Throws: when no answer came; the error says whether the request may have left.
  func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse
}

extension HTTPClient: HTTPCaller {}

extension TransportError {
  /// What a call that brought no answer means: unless no byte of it can have left, nobody knows what became of it.
  public var classification: Classification {
    if requestMayHaveLeft { return .unknown(Reason("NO_ANSWER", "The provider did not answer: \(description)")) }
    switch kind {
    case .invalidRequest:
      return .notCalled(Reason("INVALID_REQUEST", "No request can be made of this job: \(description)"), .impossible)
    case .overloaded:
      return .notCalled(Reason("LANE_BUSY", "Too many calls wait for a connection: \(description)"), .busy)
    case .resolve, .connect, .tls, .send, .receive, .timedOut, .tooLarge, .cancelled, .http2, .closed, .other:
      return .retry(Reason("NOT_CONNECTED", "The provider could not be reached: \(description)"))
    }
  }
}

extension HTTPTimeouts {
  /// A call that ends within `total`, and gives up connecting earlier: a lane that cannot be reached leaves time for another.
  public static func within(_ total: Duration) -> HTTPTimeouts {
    let total = max(total, .milliseconds(1))
    return HTTPTimeouts(connect: min(.seconds(3), total), total: total)
  }
}
