import CurlTransport
import WorkerRuntime

/// What a lane needs of HTTP: one request, one answer. `CurlTransport` is the one that ships.
protocol HTTPCaller: Sendable {
  func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse
}

extension CurlTransport: HTTPCaller {}

extension TransportError {
  /// What a call that brought no answer means: unless no byte of it can have left, nobody knows what became of it.
  var classification: Classification {
    requestMayHaveLeft
      ? .unknown(Reason("NO_ANSWER", "The provider did not answer: \(description)"))
      : .retry(Reason("NOT_CONNECTED", "The provider could not be reached: \(description)"))
  }
}

extension HTTPTimeouts {
  /// A call that ends within `total`, and gives up connecting earlier: a lane that cannot be reached leaves time for another.
  static func within(_ total: Duration) -> HTTPTimeouts {
    let total = max(total, .milliseconds(1))
    return HTTPTimeouts(connect: min(.seconds(3), total), total: total)
  }
}
