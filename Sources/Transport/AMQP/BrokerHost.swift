/// A host of the broker, as a URL names it: a node of a cluster, or what stands before one.
public struct BrokerHost: Sendable, Hashable, CustomStringConvertible {
  /// Name or address, without the brackets of an IPv6 address. With TLS, the certificate has to name it.
  public let name: String
  /// TCP port, 1...65535.
  public let port: Int

  public init(_ name: String, port: Int) {
    self.name = name
    self.port = port
  }

  /// `name:port`, as in a URL.
  public var description: String { name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)" }
}
