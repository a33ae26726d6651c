/// Where a server is, and how a session with it is kept.
public struct SMPPConfiguration: Sendable, Hashable {
  public var host: String
  public var port: UInt16
  /// TLS; a plain connection, if nil.
  public var tls: SMPPTrust?
  public var bind: BindRequest
  /// Messages under way at once, 1 or more.
  public var window: Int
  /// Messages that wait for their turn at most; further ones fail.
  public var maxWaiting: Int
  /// How long each of connecting, TLS and binding may take.
  public var connectTimeout: Duration
  /// After so long a silence the server is asked whether it is there.
  public var enquireInterval: Duration
  /// How the server writes message IDs in receipts.
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
