/// Mail submission server and the settings of its connections.
public struct SMTPConfiguration: Sendable {
  /// Protection of the connection.
  public enum Security: String, Sendable, Hashable, CaseIterable {
    /// TLS by STARTTLS, or no connection.
    case starttls
    /// TLS from the first byte.
    case tls
    /// None.
    case none
  }

  /// Account at the server.
  public struct Credentials: Sendable, Hashable {
    public var username: String
    public var password: String

    public init(username: String, password: String) {
      self.username = username
      self.password = password
    }
  }

  /// Number and life of the connections.
  public struct Pool: Sendable, Hashable {
    /// Maximum number of connections. Further messages wait.
    public var maxConnections: Int
    /// Maximum idle time after which a connection is reused.
    public var maxIdle: Duration
    /// Maximum lifetime of a connection.
    public var maxLifetime: Duration

    /// - Parameter maxConnections: 1 to 256. Each has a thread of its own while it is used.
    public init(
      maxConnections: Int = 16, maxIdle: Duration = .seconds(60), maxLifetime: Duration = .seconds(600)
    ) {
      precondition((1...256).contains(maxConnections), "a client has 1 to 256 connections")
      self.maxConnections = maxConnections
      self.maxIdle = maxIdle
      self.maxLifetime = maxLifetime
    }
  }

  /// The name that the server's certificate bears.
  public var host: String
  /// 587 for submission with STARTTLS, 465 with TLS.
  public var port: UInt16
  public var security: Security
  /// The name that this client gives in EHLO: its own host's, in full.
  public var clientName: String
  /// The account, when the server wants one.
  public var credentials: Credentials?
  /// PEM file with the only trusted certificate authorities. The system's if `nil`.
  public var caFile: String?
  public var pool: Pool
  public var timeouts = SMTPTimeouts()

  public init(
    host: String, port: UInt16 = 587, security: Security = .starttls, clientName: String = "localhost",
    credentials: Credentials? = nil, caFile: String? = nil, pool: Pool = Pool()
  ) {
    self.host = host
    self.port = port
    self.security = security
    self.clientName = clientName
    self.credentials = credentials
    self.caFile = caFile
    self.pool = pool
  }

  var authority: String { "\(host):\(port)" }

  /// libcurl takes the name for EHLO from the path.
  var url: String {
    let literal = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    return "\(security == .tls ? "smtps" : "smtp")://\(literal):\(port)/\(clientName)"
  }
}

/// Time limits of a server at each stage. By default the minimum that RFC 5321, 4.5.3.2, asks clients to grant.
public struct SMTPTimeouts: Sendable, Hashable {
  /// The TCP handshake, and that of TLS.
  public var connect: Duration = .seconds(30)
  /// The greeting, and every command but DATA.
  public var command: Duration = .seconds(300)
  /// DATA.
  public var data: Duration = .seconds(120)
  /// The message.
  public var content: Duration = .seconds(180)
  /// After the final dot.
  public var final: Duration = .seconds(600)

  /// The minimum of RFC 5321.
  public init() {}

  func limit(_ stage: SMTPStage) -> Duration {
    switch stage {
    case .connect, .tls: connect
    case .greeting, .hello, .startTLS, .authentication, .check, .sender, .recipient: command
    case .data: data
    case .content: content
    case .final: final
    }
  }
}
