import PostgreSQL
import ServiceRuntime
import Testing

@Suite struct PostgreSQLSettingsTests {
  private struct Sample: Configuration {
    let settings: PostgreSQLSettings?

    private enum Kind: String, CaseIterable {
      case sqlite, postgresql
    }

    init(_ section: ConfigurationSection) {
      let database = section.section("database")
      let kind: Kind = database.word("type", default: .sqlite, "The type.")
      settings = PostgreSQLSettings.read(database, isUsed: kind == .postgresql, hasReaders: true)
    }
  }

  private func settings(_ keys: [String: String]) throws(ConfigurationError) -> LoadedConfiguration<Sample> {
    var environment = ["COUNTERSIGN_DATABASE_TYPE": "postgresql"]
    for (key, value) in keys { environment["COUNTERSIGN_DATABASE_\(key)"] = value }
    return try Sample.load(file: nil, environment: environment)
  }

  private func problem(_ keys: [String: String]) -> String? {
    let error = #expect(throws: ConfigurationError.self) { try settings(keys) }
    return error?.description
  }

  @Test func `Hosts, database and user come from the URL, the password from a file, and neither is printed with it`()
    throws
  {
    try withTemporaryDirectory { directory in
      try write("hunter2\n", to: directory + "/pw")
      let settings = try #require(
        try settings([
          "URL": "postgresql://me@db1.example,db2.example:5433/countersign", "PASSWORD_FILE": directory + "/pw",
        ]).content.settings)
      #expect(settings.endpoint.password == "hunter2")
      #expect(settings.endpoint.hosts.map(\.port) == [5432, 5433])
      #expect(!"\(settings)".contains("hunter2"))
    }
  }

  @Test func `Other machines are reached by TLS, by their certificates, unless the configuration does without`() throws
  {
    for host in ["db.example", "10.0.0.1", "127.0.0.1,db.example"] {
      let url = "postgresql://me@\(host)/countersign"
      #expect(try settings(["URL": url]).content.settings?.endpoint.tls == PostgreSQLTLS(), "\(host)")
      let plain = try settings(["URL": url, "ALLOW_PLAINTEXT": "true"])
      #expect(plain.content.settings?.endpoint.tls == nil)
      #expect(plain.warnings.map(\.text).contains { $0.contains("phone numbers cross the network unencrypted") })
      let both = try settings(["URL": url, "ALLOW_PLAINTEXT": "true", "CA_FILE": "/ca.pem"])
      #expect(both.content.settings?.endpoint.tls == PostgreSQLTLS(caFile: "/ca.pem"))
      #expect(both.warnings.isEmpty)
    }
    for host in ["127.0.0.1", "localhost", "%2Frun%2Fpostgresql"] {
      #expect(try settings(["URL": "postgresql://me@\(host)/countersign"]).content.settings?.endpoint.tls == nil)
    }
    let socket = problem(["URL": "postgresql://me@%2Frun/countersign", "CA_FILE": "/ca.pem"])
    #expect(socket?.contains("every host of the URL is a socket of this machine") == true)
  }

  @Test func `Problems name the key and the remedy, and repeat no URL`() {
    #expect(problem([:])?.hasPrefix("database.url: is required") == true)
    let withPassword = problem(["URL": "postgresql://me:hunter2@h/d"])
    #expect(withPassword?.contains("COUNTERSIGN_DATABASE_URL") == true)
    #expect(withPassword?.contains("the password does not belong into it") == true)
    #expect(withPassword?.contains("hunter2") == false)
    let lock = problem(["URL": "postgresql://me@h/d", "STATEMENT_TIMEOUT_SECONDS": "2", "LOCK_TIMEOUT_SECONDS": "2"])
    #expect(lock?.contains("must be below statementTimeoutSeconds") == true)
  }

  @Test func `Bounds reach the options`() throws {
    let options = try #require(
      try settings([
        "URL": "postgresql://me@localhost/d", "READERS": "9", "STATEMENT_TIMEOUT_SECONDS": "60",
        "LOCK_TIMEOUT_SECONDS": "0.5",
      ]).content.settings?.options)
    #expect(options.maxReaders == 9)
    #expect(options.statementTimeout == .seconds(60))
    #expect(options.lockTimeout == .milliseconds(500))
    #expect(options.runTimeout >= options.statementTimeout)
  }

  @Test func `With another type the keys are known, nothing is read, and a URL is a mistake`() throws {
    let names = try Sample.keys().map(\.path)
    for key in ["url", "passwordFile", "caFile", "allowPlaintext", "statementTimeoutSeconds", "lockTimeoutSeconds"] {
      #expect(names.contains("database.\(key)"))
    }
    #expect(try settings(["TYPE": "sqlite", "PASSWORD_FILE": "/nowhere"]).content.settings == nil)
    let given = problem(["TYPE": "sqlite", "URL": "postgresql://me@h/d"])
    #expect(given?.contains("set type to postgresql, or remove the URL") == true)
  }
}
