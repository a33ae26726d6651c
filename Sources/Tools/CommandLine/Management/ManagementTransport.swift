import CountersignCryptography
import CountersignEncoding
import FoundationEssentials
import HTTPClient

/// Sends requests to the management API of the broker.
protocol ManagementTransport: Sendable {
  /// - Parameters:
  ///   - method: `GET`, `PUT`, `POST` or `DELETE`.
  ///   - path: path from `/api/` on, percent-encoded.
  ///   - body: JSON.
  /// - Throws: if there is no answer; any status is an answer.
  func send(_ method: String, _ path: String, body: [UInt8]?) async throws(CommandLineError) -> ManagementResponse
}

/// Answer of the management API.
struct ManagementResponse: Sendable {
  let status: Int
  let body: [UInt8]
  /// Header `date`.
  var date: String?
}

/// The management API over HTTP.
struct CurlManagement: ManagementTransport {
  let transport: HTTPClient
  /// Address of the API, with the user and the password.
  let address: HTTPAddress
  let timeout: Duration

  /// Maximum size of an answer, in bytes: room for all queues of a large broker.
  private static let maxResponseBytes = 16 * 1_048_576

  func send(_ method: String, _ path: String, body: [UInt8]?) async throws(CommandLineError) -> ManagementResponse {
    // RabbitMQ answers 406 to a client that accepts only JSON when it sets a limit, since that answer has no body.
    var headers: HTTPHeaders = ["Accept": "application/json, */*"]
    if let credentials = address.credentials {
      headers.add(name: "Authorization", value: "Basic \(Base64.encode(Array(credentials.utf8)))")
    }
    if body != nil { headers.add(name: "Content-Type", value: "application/json") }
    let request = HTTPRequest(
      method: method, url: address.base + path, headers: headers, body: body,
      // All requests used here are idempotent.
      timeouts: HTTPTimeouts(total: timeout), isIdempotent: true, maxResponseBytes: Self.maxResponseBytes)
    do {
      let response = try await transport.send(request)
      return ManagementResponse(status: response.status, body: response.body, date: response.headers["date"])
    } catch {
      throw CommandLineError(
        .unavailable,
        "the management API at \(address.base) does not answer (\(error.description)): is the plugin rabbitmq_management on?"
      )
    }
  }
}

/// Address and credentials of an HTTP URL.
struct HTTPAddress: Sendable, Hashable {
  /// Scheme, host and port: `http://127.0.0.1:15672`. Without a password, so that it may be shown.
  let base: String
  /// `user:password`, decoded.
  let credentials: String?

  /// - Throws: if the text is not a URL with `http` or `https`.
  init(_ text: String) throws(CommandLineError) {
    guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
      let host = url.host(percentEncoded: true), !host.isEmpty
    else {
      throw CommandLineError(.configuration, "an address is not an http or https URL: http://USER:PASSWORD@HOST:PORT")
    }
    let port = url.port.map { ":\($0)" } ?? ""
    base = "\(scheme)://\(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host)\(port)"
    if let user = url.user(percentEncoded: false), !user.isEmpty {
      credentials = "\(user):\(url.password(percentEncoded: false) ?? "")"
    } else {
      credentials = nil
    }
  }

  init(base: String, credentials: String?) {
    self.base = base
    self.credentials = credentials
  }
}
