import CountersignEncoding
import CountersignTelemetry
import HTTPClient
import ServiceRuntime

/// The only way from accounts to the internet: bounded in time and size, over TLS, to public addresses, and without
/// redirects.
struct ProviderNetwork: Sendable {
  typealias Send = @Sendable (HTTPRequest) async throws(TransportError) -> HTTPResponse

  static let timeouts = HTTPTimeouts(connect: .seconds(3), total: .seconds(5))
  static let maxBytes = 256 << 10
  private static let maxConcurrent = 64
  private static let maxWaiting = 256

  private let allowed: AllowedAddresses
  private let send: Send

  init(_ allowed: AllowedAddresses, send: @escaping Send) {
    self.allowed = allowed
    self.send = send
  }

  init(_ allowed: AllowedAddresses) throws(TransportError) {
    let client = try Self.client(allowed)
    guard let trust = allowed.ownTrust else {
      self.init(allowed) { request throws(TransportError) in try await client.send(request) }
      return
    }
    let inner = try Self.client(allowed, caFile: trust.caFile)
    self.init(allowed) { request throws(TransportError) in
      let isInner = Self.authority(of: request.url).map(trust.authorities.contains) ?? false
      return try await (isInner ? inner : client).send(request)
    }
  }

  private static func client(
    _ allowed: AllowedAddresses, caFile: String? = nil
  ) throws(TransportError) -> HTTPClient {
    var configuration = HTTPClient.Configuration(
      maxConcurrent: maxConcurrent, maxWaiting: maxWaiting, caFile: caFile)
    configuration.allowsAddress = { allowed.allows($0, $1) }
    return try HTTPClient(configuration)
  }

  /// - Throws: `TransportError` when there is no answer, or the address is none to call.
  func get(_ url: String, bearer: Secret? = nil) async throws(TransportError) -> HTTPResponse {
    var headers: HTTPHeaders = [:]
    if let bearer { headers.add(name: "Authorization", value: "Bearer \(bearer.reveal())") }
    return try await call("GET", url, headers)
  }

  /// - Parameter basic: client and secret, as RFC 6749, section 2.3.1, has them.
  /// - Throws: as ``get(_:bearer:)``. The call may have had its effect all the same.
  func post(
    _ url: String, form: [(name: String, value: String)], basic: (id: String, secret: Secret)? = nil
  ) async throws(TransportError) -> HTTPResponse {
    var headers: HTTPHeaders = ["Content-Type": "application/x-www-form-urlencoded"]
    if let basic {
      let parts = [basic.id, basic.secret.reveal()].map { part in
        String(decoding: FormEncoding.encode([(name: part, value: "")]).dropLast(), as: UTF8.self)
      }
      headers.add(name: "Authorization", value: "Basic \(Base64.encode(Array(parts.joined(separator: ":").utf8)))")
    }
    return try await call("POST", url, headers, body: FormEncoding.encode(form))
  }

  private func call(
    _ method: String, _ url: String, _ headers: HTTPHeaders, body: [UInt8]? = nil
  ) async throws(TransportError) -> HTTPResponse {
    guard mayCall(url) else {
      throw TransportError(kind: .invalidRequest, requestMayHaveLeft: false, description: "the address is not https://")
    }
    var headers = headers
    headers.add(name: "Accept", value: "application/json")
    return try await send(
      HTTPRequest(
        method: method, url: url, headers: headers, body: body, timeouts: Self.timeouts, isIdempotent: body == nil,
        maxResponseBytes: Self.maxBytes))
  }

  /// Whether an address has the form of one to call. Where its name leads is seen on connecting.
  func mayCall(_ url: String) -> Bool { url.hasPrefix("https://") || isConfigured(url) }

  private func isConfigured(_ url: String) -> Bool {
    Self.authority(of: url).map(allowed.authorities.contains) ?? false
  }

  /// `nil` for an address that is plain HTTP to another machine.
  private static func authority(of url: String) -> String? {
    URLParts(String(url.prefix { $0 != "?" })).flatMap { $0.isUnprotected ? nil : $0.authority }
  }
}

extension URLParts {
  /// `host` or `host:port`, as written in the URL.
  var authority: String { base.split(separator: "/").last.map(String.init) ?? "" }
}
