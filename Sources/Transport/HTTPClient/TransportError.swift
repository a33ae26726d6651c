import Curl

/// Failure of a request without an answer.
public struct TransportError: Error, Sendable, CustomStringConvertible {
  /// The phase that a time-out ended.
  public enum Phase: String, Sendable, Hashable {
    /// Waiting for a free slot or connection.
    case waiting
    /// Resolving the name of the host.
    case resolve
    /// The TCP handshake.
    case connect
    /// The TLS handshake.
    case tls
    /// Writing the request and waiting for the first byte of the answer.
    case firstByte
    /// Reading the answer.
    case response
  }

  /// Kind of failure.
  public enum Kind: Sendable, Hashable {
    /// The URL, the method or a header field is malformed. Nothing was tried.
    case invalidRequest
    /// More requests wait for a slot than the configuration allows. Nothing was tried.
    case overloaded
    /// The name of the host was not resolved.
    case resolve
    /// No TCP connection.
    case connect
    /// The TLS handshake failed.
    case tls
    /// The peer's certificate was refused, or ours cannot be used: it is the same for every request.
    case certificate
    /// Writing the request failed.
    case send
    /// The connection ended before the answer was complete.
    case receive
    /// A time-out ended the request in that phase.
    case timedOut(Phase)
    /// The answer is longer than the request or the transport allows.
    case tooLarge
    /// The calling task was canceled.
    case canceled
    /// HTTP/2 framing or a stream error.
    case http2
    /// The transport was shut down.
    case closed
    /// Anything else.
    case other
  }

  /// Kind of failure.
  public let kind: Kind
  /// Whether the server may have seen the request, wholly or in part. `false` only if certainly no byte of it left.
  public let requestMayHaveLeft: Bool
  /// One line, safe to log: no path, no query, no credentials.
  public let description: String

  /// Whether the same request may succeed later. Repeating it may still be harmful: see `requestMayHaveLeft`.
  public var isRetriable: Bool {
    switch kind {
    case .invalidRequest, .canceled, .closed, .tooLarge: false
    case .overloaded, .resolve, .connect, .tls, .certificate, .send, .receive, .timedOut, .http2, .other: true
    }
  }

  /// Creates an error, for tests of callers.
  public init(kind: Kind, requestMayHaveLeft: Bool, description: String) {
    self.kind = kind
    self.requestMayHaveLeft = requestMayHaveLeft
    self.description = description
  }
}

extension TransportError {
  init(_ failure: CurlSetUp.Failure) {
    switch failure {
    case .library(let text): self.init(kind: .other, requestMayHaveLeft: false, description: text)
    case .file(let text): self.init(kind: .tls, requestMayHaveLeft: false, description: text)
    }
  }

  static let closed = TransportError(
    kind: .closed, requestMayHaveLeft: false, description: "the HTTP transport was shut down")
  static let overloaded = TransportError(
    kind: .overloaded, requestMayHaveLeft: false, description: "too many requests wait for the HTTP transport")
  static let canceledEarly = TransportError(
    kind: .canceled, requestMayHaveLeft: false, description: "canceled before it began")
  static func invalidRequest(_ what: String) -> TransportError {
    TransportError(kind: .invalidRequest, requestMayHaveLeft: false, description: "invalid HTTP request: \(what)")
  }
}
