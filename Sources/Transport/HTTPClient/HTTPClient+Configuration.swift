extension HTTPClient {
  /// What all requests of a transport share.
  public struct Configuration: Sendable {
    /// Which version of the protocol a transport speaks, with every request.
    ///
    /// There is no third word that would mix them: libcurl 7.88, asked for HTTP/2 where some connections to the host speak HTTP/1.1, takes
    /// one of those that has a request under way for one that can carry several, and gives each the other's answer.
    public enum Version: String, Sendable, Hashable, CaseIterable {
      /// HTTP/1.1.
      case http1
      /// HTTP/2 to servers that offer it over TLS (ALPN), else HTTP/1.1.
      ///
      /// An HTTP/2 server may end a connection at any time with GOAWAY (nginx does after 1,000 requests), and libcurl does not
      /// tell which of the requests under way it refused and which it carried out: those that are not idempotent all count
      /// as "may have left".
      case http2
    }

    /// Requests under way at once; more wait.
    public var maxConcurrent: Int
    /// Requests that wait; more fail with `.overloaded`.
    public var maxWaiting: Int
    /// Connections to one host (name and port) at once.
    public var maxConnectionsPerHost: Int
    /// How long an unused connection may be taken again. Shorter than what servers grant (often 60 to 75 s), so that both ends
    /// rarely disagree about whether it is open.
    public var maxIdle: Duration
    /// How long a connection may be used in all, so that a moved address is followed.
    public var maxLifetime: Duration
    /// A PEM file of certificate authorities, which are then the only ones trusted; the system's if `nil`.
    public var caFile: String?
    /// A PEM file with the client's certificate, if the server asks for one.
    public var clientCertificateFile: String?
    /// A PEM file with the key of `clientCertificateFile`.
    public var clientKeyFile: String?
    /// The `User-Agent` of requests that have none.
    public var userAgent: String
    /// Which version of the protocol is spoken.
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
    ///   - version: Which version of the protocol is spoken.
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
