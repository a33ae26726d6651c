/// Address of a server and the settings of a session with it.
public struct SMPPConfiguration: Sendable, Hashable {
  public var host: String
  public var port: UInt16
  /// TLS settings. `nil`: a plain connection.
  public var tls: SMPPTrust?
  public var bind: BindRequest
  public var limits: Limits
  /// The server's notation of message IDs in delivery reports.
  public var messageIDs: MessageIDNotation

  public init(
    host: String, port: UInt16 = 2775, tls: SMPPTrust? = nil, bind: BindRequest, limits: Limits = Limits(),
    messageIDs: MessageIDNotation = .same
  ) {
    self.host = host
    self.port = port
    self.tls = tls
    self.bind = bind
    self.limits = limits
    self.messageIDs = messageIDs
  }

  /// Limits of a session.
  public struct Limits: Sendable, Hashable {
    /// Maximum submissions awaiting a response, 1 or more.
    public var window: Int
    /// Maximum submissions waiting for the window. Further ones fail.
    public var maxWaiting: Int
    /// Time limit for each of connecting, TLS and binding.
    public var connectTimeout: Duration
    /// Silence after which an `enquire_link` is sent.
    public var enquireInterval: Duration
    var enquireTimeout: Duration = .seconds(10)
    /// The server is asked to repeat further ones.
    var maxReceipts = 256
    /// Time that a delivery report waits for the response to its submission.
    var receiptHold: Duration = .seconds(1)
    /// Time that a server which ends the session has for outstanding responses.
    var farewell: Duration = .seconds(2)
    /// A submission that would wait longer for the end of a pause is returned: another lane may be quicker.
    var longestWaitForPause: Duration = .seconds(1)

    public init(
      window: Int = 10, maxWaiting: Int = 10_000, connectTimeout: Duration = .seconds(5),
      enquireInterval: Duration = .seconds(30)
    ) {
      precondition(window > 0 && maxWaiting >= 0, "a window holds at least one message")
      self.window = window
      self.maxWaiting = maxWaiting
      self.connectTimeout = connectTimeout
      self.enquireInterval = enquireInterval
    }
  }
}

/// TLS settings of a connection. The minimum is TLS 1.2.
public struct SMPPTrust: Sendable, Hashable {
  /// PEM file with the authorities to trust. `nil`: the system's.
  public var caFile: String?

  public init(caFile: String? = nil) { self.caFile = caFile }
}
