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

    /// Number and life of the connections that requests share.
    public struct Pool: Sendable, Hashable {
      /// Maximum number of connections to one host (name and port). That of concurrent requests if `nil`.
      public var maxPerHost: Int?
      /// Maximum idle time after which a connection is reused. Shorter than the servers' own (often 60 to 75 s), so
      /// that both ends rarely disagree about whether it is open.
      public var maxIdle: Duration
      /// Maximum lifetime of a connection, so that a changed address is noticed.
      public var maxLifetime: Duration

      /// - Parameters:
      ///   - maxPerHost: at least 1.
      ///   - maxIdle: at least 1 s, whole seconds.
      ///   - maxLifetime: at least 1 s, whole seconds.
      public init(
        maxPerHost: Int? = nil, maxIdle: Duration = .seconds(30), maxLifetime: Duration = .seconds(600)
      ) {
        precondition((maxPerHost ?? 1) >= 1 && maxIdle >= .seconds(1) && maxLifetime >= .seconds(1))
        self.maxPerHost = maxPerHost
        self.maxIdle = maxIdle
        self.maxLifetime = maxLifetime
      }
    }

    /// Certificate of the client, for servers that ask for one.
    public struct ClientCertificate: Sendable, Hashable {
      /// PEM file with the certificate.
      public var file: String
      /// PEM file with its key.
      public var keyFile: String

      public init(file: String, keyFile: String) {
        self.file = file
        self.keyFile = keyFile
      }
    }

    /// Maximum number of concurrent requests. Others wait.
    public var maxConcurrent: Int
    /// Maximum number of waiting requests. Others fail with `.overloaded`.
    public var maxWaiting: Int
    public var pool: Pool
    /// PEM file with the only trusted certificate authorities. The system's if `nil`.
    public var caFile: String?
    public var clientCertificate: ClientCertificate?
    /// The `User-Agent` of requests that have none.
    public var userAgent: String
    public var version: Version
    /// Whether connections to a host, as the URL names it with its port, may go to an address of 4 or 16 bytes that its
    /// name stands for. Asked on the loop's queue whenever a connection is opened.
    public var allowsAddress: @Sendable (_ authority: String, _ address: [UInt8]) -> Bool = { _, _ in true }

    /// - Parameters:
    ///   - maxConcurrent: 1 to 10,000.
    ///   - maxWaiting: at least 0.
    ///   - pool: number and life of the connections.
    ///   - caFile: a PEM file of certificate authorities.
    ///   - userAgent: one line.
    ///   - version: protocol version.
    public init(
      maxConcurrent: Int = 128, maxWaiting: Int = 10_000, pool: Pool = Pool(), caFile: String? = nil,
      userAgent: String = "countersign", version: Version = .http1
    ) {
      precondition((1...10_000).contains(maxConcurrent) && maxWaiting >= 0)
      self.maxConcurrent = maxConcurrent
      self.maxWaiting = maxWaiting
      self.pool = pool
      self.caFile = caFile
      self.userAgent = userAgent
      self.version = version
    }
  }
}
