internal import HTTPClient

/// Asks web servers over HTTP.
struct CurlProbe: HTTPProbe {
  let transport: HTTPClient
  let timeout: Duration

  func get(_ url: String) async throws(OperationsError) -> HTTPProbeAnswer {
    let limit = min(timeout, .seconds(5))
    do {
      let response = try await transport.send(
        HTTPRequest(
          method: "GET", url: url, timeouts: HTTPTimeouts(connect: min(limit, .seconds(3)), total: limit),
          isIdempotent: true))
      return HTTPProbeAnswer(status: response.status, body: response.body, date: response.headers["date"])
    } catch {
      throw OperationsError(.unavailable, error.description)
    }
  }
}
