import HTTPClient

protocol HTTPProbe: Sendable {
  func get(_ url: String) async throws(CommandLineError) -> HTTPProbeAnswer
}

struct HTTPProbeAnswer: Sendable {
  let status: Int
  let body: [UInt8]
  /// Header `date`.
  var date: String?
  /// Header `location`: redirects are not followed.
  var location: String?
}

struct CurlProbe: HTTPProbe {
  let transport: HTTPClient
  let timeout: Duration

  func get(_ url: String) async throws(CommandLineError) -> HTTPProbeAnswer {
    let limit = min(timeout, .seconds(5))
    do {
      let response = try await transport.send(
        HTTPRequest(
          method: "GET", url: url, timeouts: HTTPTimeouts(connect: min(limit, .seconds(3)), total: limit),
          isIdempotent: true))
      return HTTPProbeAnswer(
        status: response.status, body: response.body, date: response.headers["date"],
        location: response.headers["location"])
    } catch {
      throw CommandLineError(.unavailable, error.description)
    }
  }
}
