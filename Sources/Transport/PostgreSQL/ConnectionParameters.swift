import Glibc

/// Settings of one connection to one address, as libpq's keywords (its documentation, section 34.1.2).
struct ConnectionParameters {
  /// A file that cannot exist. Naming one keeps libpq from looking into the home directory.
  private static let noFile = "/dev/null/none"
  /// Debian's bundle of the system's authorities, and that of other distributions. libpq knows the word `system` only
  /// from version 16 on.
  private static let systemAuthorities = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"]
  private static let tcpProbes = 2

  private(set) var settings: [(keyword: String, value: String)] = []

  init(_ endpoint: PostgreSQLEndpoint, address: ServerAddress, number: String?, options: PostgreSQLOptions) {
    add("host", address.host)
    add("hostaddr", number)
    add("port", String(address.port))
    add("dbname", endpoint.database)
    add("user", endpoint.user)
    add("password", endpoint.password)
    add("passfile", Self.noFile)
    add("application_name", endpoint.applicationName)
    add("client_encoding", "UTF8")
    add("channel_binding", "prefer")
    add("gssencmode", "disable")
    add("target_session_attrs", "any")
    addNetwork(options)
    addTLS(endpoint.tls)
  }

  /// Settings that only look at a server's certificate: the server gets no password.
  init(looking endpoint: PostgreSQLEndpoint, address: ServerAddress, number: String?, options: PostgreSQLOptions) {
    var endpoint = endpoint
    endpoint.password = ""
    self.init(endpoint, address: address, number: number, options: options)
    settings.removeAll { ["sslmode", "sslrootcert"].contains($0.keyword) }
    add("sslmode", "require")
    add("sslrootcert", Self.noFile)
  }

  private mutating func addNetwork(_ options: PostgreSQLOptions) {
    add("keepalives", "1")
    add("keepalives_idle", String(options.keepaliveIdle.components.seconds))
    add("keepalives_interval", String(options.keepaliveInterval.components.seconds))
    add("keepalives_count", String(Self.tcpProbes))
    add("tcp_user_timeout", String(options.tcpUserTimeout.milliseconds))
  }

  private mutating func addTLS(_ tls: PostgreSQLTLS?) {
    add("sslmode", tls == nil ? "disable" : "verify-full")
    add("sslcert", Self.noFile)
    add("sslkey", Self.noFile)
    add("sslcrl", Self.noFile)
    add("sslcompression", "0")
    add("sslsni", "1")
    add("ssl_min_protocol_version", "TLSv1.2")
    add("sslrootcert", tls?.caFile ?? Self.systemFile)
  }

  /// An empty value would count as none.
  private mutating func add(_ keyword: String, _ value: String?) {
    guard let value, !value.isEmpty else { return }
    settings.append((keyword, value))
  }

  private static var systemFile: String {
    systemAuthorities.first { access($0, R_OK) == 0 } ?? systemAuthorities[0]
  }

  static func serverSettings(_ options: PostgreSQLOptions) -> [(name: String, value: String)] {
    let settings = [
      ("statement_timeout", String(options.statementTimeout.milliseconds)),
      ("lock_timeout", String(options.lockTimeout.milliseconds)),
      ("idle_in_transaction_session_timeout", String(options.idleInTransactionTimeout.milliseconds)),
      ("tcp_keepalives_idle", String(options.keepaliveIdle.components.seconds)),
      ("tcp_keepalives_interval", String(options.keepaliveInterval.components.seconds)),
      ("tcp_keepalives_count", String(tcpProbes)),
      ("tcp_user_timeout", String(options.serverTCPUserTimeout.milliseconds)),
      // A body that only reads sees one state.
      ("default_transaction_isolation", options.isReadOnly ? "repeatable read" : "read committed"),
      ("search_path", searchPath(options.searchPath)),
      // Compiling a plan costs more than any of these statements.
      ("jit", "off"),
    ]
    let access = options.isReadOnly ? [("default_transaction_read_only", "on")] : []
    return settings + access + options.settings.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private static func searchPath(_ schemas: [String]) -> String {
    schemas.map { "\"\($0.replacing("\"", with: "\"\""))\"" }.joined(separator: ", ")
  }
}

extension Duration {
  /// Whole milliseconds, at least 1 of a positive duration: 0 would mean no limit to the server.
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return max(seconds * 1000 + attoseconds / 1_000_000_000_000_000, self > .zero ? 1 : 0)
  }
}
