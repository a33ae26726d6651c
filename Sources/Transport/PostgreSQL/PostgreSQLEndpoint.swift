import CountersignEncoding
import CountersignTelemetry

/// Addresses of the servers that hold one database, and the account used there.
///
/// Of several servers the one that takes changes is used; the others are its standbys.
public struct PostgreSQLEndpoint: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The largest number of servers.
  public static let maxHosts = 16

  /// The servers, in the order of preference. 1 to ``maxHosts``.
  public var hosts: [ServerAddress]
  public var database: String
  public var user: String
  /// Password. Empty if the server asks for none. Never part of `description`.
  public var password: String
  /// TLS settings. `nil` for an unencrypted connection. Unix sockets are never encrypted.
  public var tls: PostgreSQLTLS?
  /// Connection name shown by the server.
  public var applicationName: String

  public init(
    hosts: [ServerAddress], database: String, user: String, password: String = "", tls: PostgreSQLTLS? = nil,
    applicationName: String = "countersign"
  ) {
    self.hosts = hosts
    self.database = database
    self.user = user
    self.password = password
    self.tls = tls
    self.applicationName = applicationName
  }

  /// `postgresql://user@host:port,host:port/database`, percent-encoded, without the password.
  public var description: String {
    let hosts = self.hosts.map(\.description).joined(separator: ",")
    return "postgresql://\(PercentEncoding.encode(user))@\(hosts)/\(PercentEncoding.encode(database))"
  }

  public var debugDescription: String { description }

  /// Hides the password from `dump` and other uses of reflection.
  public var customMirror: Mirror { Mirror(self, children: ["endpoint": description]) }
}

extension PostgreSQLEndpoint {
  /// Parts that a program may have set to something that libpq would read otherwise.
  func check() throws(StoreError) {
    guard (1...Self.maxHosts).contains(hosts.count) else {
      throw StoreError(.misuse, "an endpoint has 1 to \(Self.maxHosts) hosts")
    }
    for host in hosts {
      // libpq reads a comma as the end of a host, and `@` as a socket without a file.
      guard !host.host.isEmpty, !host.host.contains(","), !host.host.hasPrefix("@"), (1...65535).contains(host.port)
      else { throw StoreError(.misuse, "an endpoint has a host or a port that cannot be one") }
    }
    let texts = hosts.map(\.host) + [database, user, password, applicationName, tls?.caFile ?? ""]
    guard !database.isEmpty, !user.isEmpty, !texts.contains(where: { $0.utf8.contains(0) }) else {
      throw StoreError(.misuse, "an endpoint needs a database and a user, and no part may contain U+0000")
    }
  }
}

/// Encryption of a connection to the server, and the authorities it trusts. TLS 1.2 is the minimum; the certificate must
/// be signed by a trusted authority, be valid now and name the host of the URL.
public struct PostgreSQLTLS: Sendable, Hashable {
  /// PEM file with the trusted authorities. The system's if `nil`.
  public var caFile: String?

  public init(caFile: String? = nil) {
    self.caFile = caFile
  }
}
