import CountersignEncoding

/// Address of a broker and the account used there.
public struct BrokerEndpoint: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// Name or address, without the brackets of an IPv6 address.
  public var host: String
  /// TCP port, 1...65535.
  public var port: Int
  /// Virtual host; `/` is the broker's default.
  public var virtualHost: String
  /// User name. With a client certificate and no password, the certificate authenticates (SASL EXTERNAL); the name must
  /// then be the one the broker reads from it, as it is used for `user_id`.
  public var username: String
  /// Password; never part of `description`.
  public var password: String
  /// TLS settings; `nil` for an unencrypted connection.
  public var tls: TLSSettings?

  public init(
    host: String, port: Int, virtualHost: String = "/", username: String = "guest", password: String = "guest",
    tls: TLSSettings? = nil
  ) {
    self.host = host
    self.port = port
    self.virtualHost = virtualHost
    self.username = username
    self.password = password
    self.tls = tls
  }

  /// `amqp://user@host:port/vhost`, percent-encoded, without the password.
  public var description: String {
    let scheme = tls == nil ? "amqp" : "amqps"
    let host = self.host.contains(":") ? "[\(self.host)]" : self.host
    return "\(scheme)://\(PercentEncoding.encode(username))@\(host):\(port)/\(PercentEncoding.encode(virtualHost))"
  }

  public var debugDescription: String { description }

  /// Hides the password from `dump` and other uses of reflection.
  public var customMirror: Mirror { Mirror(self, children: ["endpoint": description]) }
}

/// Encryption of a connection to the broker, and the authorities it trusts. TLS 1.2 is the minimum.
public struct TLSSettings: Sendable, Hashable {
  /// PEM file with the trusted authorities; the system's if `nil`.
  public var caFile: String?
  /// PEM file with the client's certificate chain, for brokers that require one.
  public var certificateFile: String?
  /// PEM file with the unencrypted key of `certificateFile`.
  public var keyFile: String?
  /// Whether the broker's certificate must be signed by a trusted authority and be valid now. Turn it off for
  /// experiments only.
  public var verifyPeer: Bool
  /// Whether the certificate must name the host (or IP address) of the URL.
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
