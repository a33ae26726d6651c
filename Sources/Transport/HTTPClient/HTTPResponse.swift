/// A complete answer, whatever its status.
public struct HTTPResponse: Sendable {
  /// A version of the protocol.
  public enum Version: String, Sendable, Hashable {
    case http10 = "1.0"
    case http11 = "1.1"
    case http2 = "2"
  }

  /// The status code, 200 to 999.
  public let status: Int
  /// The header fields, then the trailers.
  public let headers: HTTPHeaders
  /// The body, decoded from its transfer coding.
  public let body: [UInt8]
  /// The version of the protocol that was spoken.
  public let version: Version

  /// Makes an answer, as tests of a caller do.
  public init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = [], version: Version = .http11) {
    self.status = status
    self.headers = headers
    self.body = body
    self.version = version
  }
}
