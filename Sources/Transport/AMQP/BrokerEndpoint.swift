import CountersignEncoding

/// Hosts of a broker and the account used there. A connection uses one host at a time and takes the next when it loses
/// it; connections of one process may be at different hosts.
public struct BrokerEndpoint: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// Hosts of the broker: one, or nodes of one cluster, at most `BrokerHost.maxCount`.
  public var hosts: [BrokerHost] {
    didSet { Self.require(hosts) }
  }
  /// Virtual host. `/` is the broker's default.
  public var virtualHost: String
  /// User name. With a client certificate and no password, the certificate authenticates (SASL EXTERNAL); the name must
  /// then be the one the broker reads from it, as it is used for `user_id`.
  public var username: String
  /// Password. Never part of `description`.
  public var password: String
  /// TLS settings. `nil` for an unencrypted connection.
  public var tls: TLSSettings?

  public init(
    hosts: [BrokerHost], virtualHost: String = "/", username: String = "guest", password: String = "guest",
    tls: TLSSettings? = nil
  ) {
    Self.require(hosts)
    self.hosts = hosts
    self.virtualHost = virtualHost
    self.username = username
    self.password = password
    self.tls = tls
  }

  /// The endpoint of a broker with one host.
  public init(
    host: String, port: Int, virtualHost: String = "/", username: String = "guest", password: String = "guest",
    tls: TLSSettings? = nil
  ) {
    self.init(
      hosts: [BrokerHost(host, port: port)], virtualHost: virtualHost, username: username, password: password, tls: tls)
  }

  private static func require(_ hosts: [BrokerHost]) {
    precondition((1...BrokerHost.maxCount).contains(hosts.count), "there must be 1...\(BrokerHost.maxCount) hosts")
  }

  /// The same account at one of the hosts.
  public func at(_ host: BrokerHost) -> BrokerEndpoint {
    var endpoint = self
    endpoint.hosts = [host]
    return endpoint
  }

  /// `amqp://user@host:port,host:port/vhost`, percent-encoded, without the password.
  public var description: String {
    let scheme = tls == nil ? "amqp" : "amqps"
    let hosts = hosts.map(\.description).joined(separator: ",")
    return "\(scheme)://\(PercentEncoding.encode(username))@\(hosts)/\(PercentEncoding.encode(virtualHost))"
  }

  public var debugDescription: String { description }

  /// Hides the password from `dump` and other uses of reflection.
  public var customMirror: Mirror { Mirror(self, children: ["endpoint": description]) }
}

/// Encryption of a connection to the broker, and the authorities it trusts. TLS 1.2 is the minimum.
public struct TLSSettings: Sendable, Hashable {
  /// PEM file with the trusted authorities. The system's if `nil`.
  public var caFile: String?
  /// PEM file with the client's certificate chain, for brokers that require one.
  public var certificateFile: String?
  /// PEM file with the unencrypted key of `certificateFile`.
  public var keyFile: String?
  /// Whether the broker's certificate must be signed by a trusted authority and be valid now. Turn it off for
  /// experiments only.
  public var verifyPeer: Bool
  /// Whether the certificate must name the host (or IP address) that is connected to.
  public var verifyHostname: Bool

  public init(
    caFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil, verifyPeer: Bool = true,
    verifyHostname: Bool = true
  ) {
    self.caFile = caFile
    self.certificateFile = certificateFile
    self.keyFile = keyFile
    self.verifyPeer = verifyPeer
    self.verifyHostname = verifyHostname
  }
}
