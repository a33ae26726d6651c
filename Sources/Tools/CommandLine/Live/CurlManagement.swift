internal import CountersignEncoding
internal import HTTPClient

/// The management API over HTTP.
struct CurlManagement: ManagementTransport {
  let transport: HTTPClient
  /// Scheme, host and port, and who asks.
  let address: HTTPAddress
  let timeout: Duration

  /// Bytes of an answer: the queues of a large broker, not of a page.
  private static let maxResponseBytes = 16 * 1_048_576

  func send(_ method: String, _ path: String, body: [UInt8]?) async throws(OperationsError) -> ManagementResponse {
    // RabbitMQ refuses (406) to set a limit for whoever takes JSON alone, since it answers without a body.
    var headers: HTTPHeaders = ["Accept": "application/json, */*"]
    if let credentials = address.credentials {
      headers.add(name: "Authorization", value: "Basic \(Base64.encode(Array(credentials.utf8)))")
    }
    if body != nil { headers.add(name: "Content-Type", value: "application/json") }
    let request = HTTPRequest(
      method: method, url: address.base + path, headers: headers, body: body,
      // Every request of the management API that is used here has the same effect twice as once.
      timeouts: HTTPTimeouts(total: timeout), isIdempotent: true, maxResponseBytes: Self.maxResponseBytes)
    do {
      let response = try await transport.send(request)
      return ManagementResponse(status: response.status, body: response.body, date: response.headers["date"])
    } catch {
      throw OperationsError(
        .unavailable,
        "the management API at \(address.base) does not answer (\(error.description)): is the plugin rabbitmq_management on?"
      )
    }
  }
}
