import CountersignEncoding

/// Address of one server: a name, an IP address or the directory of a Unix socket, and a port.
public struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
  /// The port that IANA assigned.
  public static let defaultPort = 5432

  /// Name, address without the brackets of an IPv6 address, or absolute path of the directory of a Unix socket.
  public var host: String
  /// TCP port, or the number in the socket's name. 1...65535.
  public var port: Int

  public init(host: String, port: Int = Self.defaultPort) {
    self.host = host
    self.port = port
  }

  /// Whether it is the directory of a Unix socket.
  public var isSocket: Bool { host.hasPrefix("/") }

  /// Whether what is sent there cannot leave this machine: a Unix socket, or an address of its loopback. A name other
  /// than `localhost` counts as another machine.
  public var isLocal: Bool {
    if isSocket || host == "localhost" || host == "::1" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  /// As in a URL: percent-encoded, an IPv6 address in brackets.
  public var description: String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(PercentEncoding.encode(host)):\(port)"
  }
}
