import CountersignEncoding

/// Where the broker is and who we are to it.
public struct BrokerEndpoint: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// Name or address, without the brackets of an IPv6 address.
  public var host: String
  /// TCP port, 1...65535.
  public var port: Int
  /// The virtual host; `/` is the broker's default one.
  public var virtualHost: String
  /// The user. With a client certificate and without a password the certificate says who we are (SASL EXTERNAL); the name is then the one
  /// that the broker reads in it, for `user_id`.
  public var username: String
  /// The password. Never part of `description`.
  public var password: String
  /// Present when the connection is encrypted.
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

  /// `dump` and the like must not show the password either.
  public var customMirror: Mirror { Mirror(self, children: ["endpoint": description]) }
}
