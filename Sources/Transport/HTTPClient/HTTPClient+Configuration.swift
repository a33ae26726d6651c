extension HTTPClient {
  /// Settings shared by all requests of a client.
  public struct Configuration: Sendable {
    /// Protocol version used for every request.
    ///
    /// A mixed mode is not offered: libcurl 7.88, asked for HTTP/2 while some connections to the host speak HTTP/1.1,
    /// mistakes a busy one of these for a connection that can carry several requests, and swaps their answers.
    public enum Version: String, Sendable, Hashable, CaseIterable {
      /// HTTP/1.1.
      case http1
      /// HTTP/2 to servers that offer it over TLS (ALPN), else HTTP/1.1.
      ///
      /// An HTTP/2 server may end a connection at any time with GOAWAY (nginx does after 1,000 requests), and libcurl
      /// does not tell which of the requests under way it refused and which it carried out: those that are not
      /// idempotent all count as "may have left".
      case http2
    }

    /// Maximum number of concurrent requests; others wait.
    public var maxConcurrent: Int
    /// Maximum number of waiting requests; others fail with `.overloaded`.
    public var maxWaiting: Int
    /// Maximum number of connections to one host (name and port).
    public var maxConnectionsPerHost: Int
    /// Maximum idle time after which a connection is reused. Shorter than the servers' own (often 60 to 75 s), so that
    /// both ends rarely disagree about whether it is open.
    public var maxIdle: Duration
    /// Maximum lifetime of a connection, so that a changed address is noticed.
    public var maxLifetime: Duration
    /// PEM file with the only trusted certificate authorities; the system's if `nil`.
    public var caFile: String?
    /// A PEM file with the client's certificate, if the server asks for one.
    public var clientCertificateFile: String?
    /// A PEM file with the key of `clientCertificateFile`.
    public var clientKeyFile: String?
    /// The `User-Agent` of requests that have none.
    public var userAgent: String
    /// Protocol version.
    public var version: Version

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - maxConcurrent: 1 to 10,000.
    ///   - maxWaiting: At least 0.
    ///   - maxConnectionsPerHost: At least 1; `maxConcurrent` if `nil`.
    ///   - maxIdle: At least 1 s, whole seconds.
    ///   - maxLifetime: At least 1 s, whole seconds.
    ///   - caFile: A PEM file of certificate authorities.
    ///   - clientCertificateFile: A PEM file.
    ///   - clientKeyFile: A PEM file.
    ///   - userAgent: One line.
    ///   - version: Protocol version.
    public init(
      maxConcurrent: Int = 128, maxWaiting: Int = 10_000, maxConnectionsPerHost: Int? = nil,
      maxIdle: Duration = .seconds(30), maxLifetime: Duration = .seconds(600),
      caFile: String? = nil, clientCertificateFile: String? = nil, clientKeyFile: String? = nil,
      userAgent: String = "countersign", version: Version = .http1
    ) {
      precondition((1...10_000).contains(maxConcurrent) && maxWaiting >= 0 && (maxConnectionsPerHost ?? 1) >= 1)
      precondition(maxIdle >= .seconds(1) && maxLifetime >= .seconds(1))
      self.maxConcurrent = maxConcurrent
      self.maxWaiting = maxWaiting
      self.maxConnectionsPerHost = maxConnectionsPerHost ?? maxConcurrent
      self.maxIdle = maxIdle
      self.maxLifetime = maxLifetime
      self.caFile = caFile
      self.clientCertificateFile = clientCertificateFile
      self.clientKeyFile = clientKeyFile
      self.userAgent = userAgent
      self.version = version
    }
  }
}
