import CountersignTelemetry
public import PostgreSQL

/// Address of a PostgreSQL database and the bounds of its use: keys that every section of a database or a ledger has.
public struct PostgreSQLSettings: Sendable, Hashable {
  /// Hosts, database, user, password, TLS. Does not print the password.
  public let endpoint: PostgreSQLEndpoint
  /// Time-outs, and the bounds of the connections.
  public let options: PostgreSQLOptions

  public init(endpoint: PostgreSQLEndpoint, options: PostgreSQLOptions = PostgreSQLOptions()) {
    self.endpoint = endpoint
    self.options = options
  }

  /// Reads the keys. Problems are reported to the section.
  /// - Parameters:
  ///   - section: the section with the keys, and with the key `type`.
  ///   - isUsed: whether the section's type is `postgresql`. The keys are known in either case.
  ///   - hasReaders: whether connections read beside the one that writes, so that their number is a key.
  /// - Returns: `nil` when it is not used.
  public static func read(
    _ section: ConfigurationSection, isUsed: Bool, hasReaders: Bool = false
  ) -> PostgreSQLSettings? {
    guard isUsed else {
      for key in Key.all { section.declare(key.name, kind: key.kind, key.help) }
      _ = section.allowsPlaintext()
      section.check(
        Key.url.name, !section.isGiven(Key.url.name),
        "has no effect with this type: set type to postgresql, or remove the URL")
      return nil
    }
    return PostgreSQLSettings(section, hasReaders: hasReaders)
  }

  /// Reads one section of a process's configuration, for tools: nothing else in the file is looked at.
  /// - Parameters:
  ///   - file: the path of the file.
  ///   - section: name of the section, `database`.
  ///   - hasReaders: see ``read(_:isUsed:hasReaders:)``.
  ///   - environment: variables that override its keys.
  /// - Returns: `nil` when its type is another one.
  /// - Throws: all problems at once.
  public static func load(
    file: String, section name: String, hasReaders: Bool = false, environment: [String: String] = [:]
  ) throws(ConfigurationError) -> PostgreSQLSettings? {
    let content = try ConfigurationFile(path: file)
    let reader = ConfigurationReader(file: content, environment: environment)
    let section = ConfigurationSection(reader: reader, path: "", fields: content.fields).section(name)
    guard section.readString("type") == "postgresql" else { return nil }
    let settings = read(section, isUsed: true, hasReaders: hasReaders)
    guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
    return settings
  }

  private init(_ section: ConfigurationSection, hasReaders: Bool) {
    let url = section.string(Key.url.name, Key.url.help)
    let password = section.secretFile(Key.passwordFile.name, Key.passwordFile.help)
    let caFile = section.path(Key.caFile.name, Key.caFile.help)
    endpoint = Self.endpoint(section, url, password, caFile)
    var options = PostgreSQLOptions()
    if hasReaders {
      options.maxReaders = section.integer(
        Key.readers, default: options.maxReaders, in: 1...64, "Connections that read beside the one that writes.")
    }
    options.statementTimeout = section.seconds(
      Key.statementTimeout.name, default: options.statementTimeout, in: .seconds(1)...(.seconds(300)),
      Key.statementTimeout.help)
    options.lockTimeout = section.seconds(
      Key.lockTimeout.name, default: options.lockTimeout, in: .milliseconds(100)...(.seconds(60)),
      Key.lockTimeout.help)
    section.check(
      Key.lockTimeout.name, options.lockTimeout < options.statementTimeout,
      "must be below \(Key.statementTimeout.name): the server would end the statement before it gives up the lock")
    options.runTimeout = max(options.runTimeout, options.statementTimeout * 3)
    self.options = options
  }

  private static func endpoint(
    _ section: ConfigurationSection, _ url: String, _ password: Secret?, _ caFile: String?
  ) -> PostgreSQLEndpoint {
    let standIn = PostgreSQLEndpoint(hosts: [ServerAddress(host: "localhost")], database: "countersign", user: "")
    let allowsPlaintext = section.allowsPlaintext()
    guard !url.isEmpty else { return standIn }
    do {
      var endpoint = try PostgreSQLEndpoint(url: url)
      if let password { endpoint.password = password.reveal() }
      endpoint.tls = tls(endpoint, section, caFile, allowsPlaintext: allowsPlaintext)
      return endpoint
    } catch {
      section.problem(Key.url.name, error.message)
      return standIn
    }
  }

  /// TLS to every other machine, unless the configuration does without. On this one if it names authorities.
  private static func tls(
    _ endpoint: PostgreSQLEndpoint, _ section: ConfigurationSection, _ caFile: String?, allowsPlaintext: Bool
  ) -> PostgreSQLTLS? {
    if let caFile {
      section.check(
        Key.caFile.name, endpoint.hosts.contains { !$0.isSocket },
        "has no effect: every host of the URL is a socket of this machine, which needs no TLS")
      return PostgreSQLTLS(caFile: caFile)
    }
    guard endpoint.hosts.contains(where: { !$0.isLocal }) else { return nil }
    section.checkPlaintext(
      Key.url.name, allowsPlaintext, "names another machine, without TLS", crossing: "the password and phone numbers",
      remedy: "remove allowPlaintext, and name the server's authority in \(Key.caFile.name)")
    return allowsPlaintext ? nil : PostgreSQLTLS()
  }

  private struct Key {
    let name, kind, help: String

    static let readers = "readers"
    static let url = Key(
      name: "url", kind: "text, required with type postgresql",
      help: "The database, postgresql://user@host:5432/database; several hosts, with commas, for failover.")
    static let passwordFile = Key(
      name: "passwordFile", kind: "path of a file with a secret, optional",
      help: "The file with the password of the user in the URL, which holds none itself.")
    static let caFile = Key(
      name: "caFile", kind: "path, optional",
      help: "Certificates to trust, PEM; those of the system if absent. A certificate has to name the host of the URL.")
    static let statementTimeout = Key(
      name: "statementTimeoutSeconds", kind: "a number from 1 to 300, default 10",
      help: "Maximum duration of a statement in the server.")
    static let lockTimeout = Key(
      name: "lockTimeoutSeconds", kind: "a number from 0.1 to 60, default 2",
      help: "Maximum wait of a statement for a row that another process holds.")

    /// Those that are only declared while the type is another one.
    static let all = [url, passwordFile, caFile, statementTimeout, lockTimeout]
  }
}
