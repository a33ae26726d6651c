/// Address of a server and the settings of a session with it.
public struct SMPPConfiguration: Sendable, Hashable {
  public var host: String
  public var port: UInt16
  /// TLS settings; `nil`: a plain connection.
  public var tls: SMPPTrust?
  public var bind: BindRequest
  /// Maximum submissions awaiting a response, 1 or more.
  public var window: Int
  /// Maximum submissions waiting for the window; further ones fail.
  public var maxWaiting: Int
  /// Time limit for each of connecting, TLS and binding.
  public var connectTimeout: Duration
  /// Silence after which an `enquire_link` is sent.
  public var enquireInterval: Duration
  /// The server's notation of message IDs in delivery reports.
  public var messageIDs: MessageIDNotation

  public init(
    host: String, port: UInt16 = 2775, tls: SMPPTrust? = nil, bind: BindRequest, window: Int = 10,
    maxWaiting: Int = 10_000, connectTimeout: Duration = .seconds(5), enquireInterval: Duration = .seconds(30),
    messageIDs: MessageIDNotation = .same
  ) {
    precondition(window > 0 && maxWaiting >= 0, "a window holds at least one message")
    self.host = host
    self.port = port
    self.tls = tls
    self.bind = bind
    self.window = window
    self.maxWaiting = maxWaiting
    self.connectTimeout = connectTimeout
    self.enquireInterval = enquireInterval
    self.messageIDs = messageIDs
  }

  var limits: SessionLimits {
    SessionLimits(
      window: window, maxWaiting: maxWaiting, bindTimeout: connectTimeout, enquireInterval: enquireInterval)
  }
}
