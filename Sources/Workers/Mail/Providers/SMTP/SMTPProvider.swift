import CountersignTelemetry
import JobEngine
import SMTPClient
import ServiceRuntime

struct SMTPProvider: LaneProvider {
  static let typeName = "smtp"
  /// Replies have a table of another form, a ``ReplyTable``.
  static let tables: [ProviderTables.Source] = []

  /// Each has a thread while it is used.
  static let connections = 1...256

  private let smtp: SMTPConfiguration

  init(_ section: ConfigurationSection) {
    let host = section.string("host", "The server's name, as in its certificate.")
    section.check(
      "host",
      host.isEmpty || host.isMatched(by: { $0.isLetterOrDigit || "-.:_".unicodeScalars.contains($0) }, length: 1...253),
      "must be a host name or address")
    let security = section.word(
      "security", default: SMTPConfiguration.Security.starttls,
      "starttls: TLS by STARTTLS, required; tls: from the first byte; none.")
    let port = section.integer(
      "port", default: security == .tls ? 465 : 587, in: 1...65_535, "587 for STARTTLS, 465 for TLS.")
    let clientName = section.string(
      "clientName", default: "localhost", "The name in EHLO: this host's own, in full.")
    section.check(
      "clientName",
      clientName.isMatched(by: { $0.isLetterOrDigit || "-.:[]".unicodeScalars.contains($0) }, length: 1...253),
      "must be a host name")
    let username = section.optionalString("username", "The account, if the server requires one.")
    let password = section.secretFile("passwordFile", "Its password.")
    section.check("passwordFile", (username == nil) == (password == nil), "and username belong together")
    let isPlain = security == .none && !host.isEmpty && !LocalHost.contains(host)
    section.check(
      "security", !isPlain || username == nil, "none would send the password in the clear: use starttls or tls")
    section.checkPlaintext(
      "security", isPlain, "is none to another machine", crossing: "addresses and codes",
      remedy: "use starttls or tls")
    var credentials: SMTPConfiguration.Credentials?
    if let username, let password {
      credentials = SMTPConfiguration.Credentials(username: username, password: password.reveal())
    }
    smtp = SMTPConfiguration(
      host: host, port: UInt16(port), security: security, clientName: clientName, credentials: credentials,
      pool: SMTPConfiguration.Pool(
        maxIdle: section.seconds(
          "idleSeconds", default: .seconds(60), in: .seconds(1) ... .seconds(600),
          "How long an idle connection is kept for reuse.")))
  }

  func client(_ entry: LaneSettings<SMTPProvider>) throws(WorkerError) -> SMTPClient {
    var smtp = smtp
    smtp.caFile = entry.caFile
    smtp.pool.maxConnections = entry.lane.concurrency
    do {
      return try SMTPClient(smtp)
    } catch {
      throw WorkerError(.invalidConfiguration, "lane \(entry.lane.name): \(error)")
    }
  }
}

extension LaneSettings<SMTPProvider> {
  /// Connects to the server and authenticates, without sending a mail. Returns the problem.
  func check(timeout: Duration) async -> String? {
    do {
      guard let client = try provider?.client(self) else { return nil }
      defer { client.shutdown() }
      try await client.check(timeout: timeout)
      return nil
    } catch let error as SMTPFailure {
      return error.description
    } catch {
      return "\(error)"
    }
  }
}
