/// A request to an `http` or `https` URL.
public struct HTTPRequest: Sendable {
  /// The method, in capitals.
  public var method: String
  /// The absolute URL, already percent-encoded. It is never logged nor part of an error.
  public var url: String
  /// The header fields. `Host`, `Content-Length`, `User-Agent` and `Accept` are added unless they are given.
  public var headers: HTTPHeaders
  /// The body; `nil` sends none.
  public var body: [UInt8]?
  /// Time limits of the phases.
  public var timeouts: HTTPTimeouts
  /// Whether the server may safely see the request twice. If so, a request on a pooled connection that dies before the
  /// first byte of the answer is silently sent again on a new one; if not, it fails with `requestMayHaveLeft`.
  public var isIdempotent: Bool
  /// Maximum length of the answer's body; a longer one fails with `.tooLarge`.
  public var maxResponseBytes: Int

  /// Makes a request.
  ///
  /// - Parameters:
  ///   - method: The method, in capitals.
  ///   - url: The absolute URL, already percent-encoded.
  ///   - headers: The header fields.
  ///   - body: The body; `nil` sends none.
  ///   - timeouts: Time limits of the phases.
  ///   - isIdempotent: Whether the server may safely see the request twice.
  ///   - maxResponseBytes: Maximum length of the answer's body.
  public init(
    method: String, url: String, headers: HTTPHeaders = [:], body: [UInt8]? = nil,
    timeouts: HTTPTimeouts = HTTPTimeouts(), isIdempotent: Bool = false, maxResponseBytes: Int = 1_048_576
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeouts = timeouts
    self.isIdempotent = isIdempotent
    self.maxResponseBytes = maxResponseBytes
  }
}
