/// A request to an `http` or `https` URL.
public struct HTTPRequest: Sendable {
  /// The method, in capitals.
  public var method: String
  /// The absolute URL, already percent-encoded. It is never logged nor part of an error.
  public var url: String
  /// The header fields. `Host`, `Content-Length`, `User-Agent` and `Accept` are added unless they are given.
  public var headers: HTTPHeaders
  /// The body. `nil` sends none.
  public var body: [UInt8]?
  /// Time limits of the phases.
  public var timeouts: HTTPTimeouts
  /// Whether the server may safely see the request twice. If so, a request on a pooled connection that dies before the
  /// first byte of the answer is silently sent again on a new one; if not, it fails with `requestMayHaveLeft`.
  public var isIdempotent: Bool
  /// Maximum length of the answer's body. A longer one fails with `.tooLarge`.
  public var maxResponseBytes: Int

  /// Makes a request.
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

/// Time limits of the phases of a request.
public struct HTTPTimeouts: Sendable, Hashable {
  /// Resolving the name, connecting and the TLS handshake together, from the start of a connection. Requests wait while
  /// sixteen connections are being opened.
  public var connect: Duration
  /// From the moment the request is written to the first byte of the answer's headers. `nil` leaves it to `total`.
  public var firstByte: Duration?
  /// From the call to the last byte of the answer, including the wait for a free slot.
  public var total: Duration

  /// Makes the time-outs. Each must be at least 1 ms.
  public init(connect: Duration = .seconds(3), firstByte: Duration? = nil, total: Duration = .seconds(10)) {
    let shortest = min(connect, total, firstByte ?? total)
    precondition(shortest >= .milliseconds(1), "a time-out must be at least 1 ms")
    self.connect = connect
    self.firstByte = firstByte
    self.total = total
  }
}

/// Refuses what would let a value break out of its header line, or what libcurl would understand otherwise.
enum RequestCheck {
  static func check(_ request: HTTPRequest) throws(TransportError) {
    guard !request.method.isEmpty, request.method.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
      throw .invalidRequest("the method must be a word in capitals")
    }
    guard request.url.hasPrefix("https://") || request.url.hasPrefix("http://"),
      request.url.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { throw .invalidRequest("the URL must begin with http:// or https:// and be percent-encoded") }
    for (name, value) in request.headers.fields {
      guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
        throw .invalidRequest("a header name is malformed")
      }
      guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
        throw .invalidRequest("the value of header \(name) has a control character")
      }
    }
  }

  /// RFC 9110, section 5.6.2.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
