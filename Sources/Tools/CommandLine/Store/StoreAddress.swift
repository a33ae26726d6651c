import CountersignTelemetry
import PostgreSQL
import ServiceRuntime

struct StoreAddress: CommandOptions {
  private let url: String?
  private let login: StoreLogin

  init(_ reader: OptionReader) {
    url = reader.text("url", "URL", "The database: postgresql://USER@HOST:PORT/DATABASE, without a password.")
    login = StoreLogin(reader)
  }

  /// `nil` when none is named.
  func endpoint() throws(CommandLineError) -> PostgreSQLEndpoint? {
    guard let url else { return nil }
    return try login.endpoint(url, as: "--url")
  }
}

struct StoreLogin: CommandOptions {
  private let passwordFile, caFile: String?
  private let allowsPlaintext: Bool

  init(_ reader: OptionReader) {
    passwordFile = reader.text("password-file", "FILE", "File with the password of that user.")
    caFile = reader.text("ca-file", "FILE", "Certificates to trust, PEM: those of the system unless given.")
    allowsPlaintext = reader.flag("allow-plaintext", "Connects to another machine without TLS.")
  }

  func endpoint(_ url: String, as name: String) throws(CommandLineError) -> PostgreSQLEndpoint {
    var endpoint: PostgreSQLEndpoint
    do throws(StoreError) { endpoint = try PostgreSQLEndpoint(url: url) } catch {
      throw CommandLineError(.usage, "\(name): \(error.message); a password goes into a file, for --password-file")
    }
    endpoint.applicationName = "countersign store"
    if let caFile {
      endpoint.tls = PostgreSQLTLS(caFile: caFile)
    } else if !allowsPlaintext, endpoint.hosts.contains(where: { !$0.isLocal }) {
      endpoint.tls = PostgreSQLTLS()
    }
    if let passwordFile { endpoint.password = try Self.password(passwordFile).reveal() }
    return endpoint
  }

  static func password(_ path: String) throws(CommandLineError) -> Secret {
    let text = String(decoding: try InputFile.read(path, limit: 4_096), as: UTF8.self)
    guard let line = text.split(whereSeparator: \.isNewline).first, !line.isEmpty else {
      throw CommandLineError(.badInput, "\(path) is empty; write the password into it")
    }
    return Secret(String(line))
  }
}

extension CommandLineError {
  private static func remedy(_ error: StoreError) -> String? {
    switch error.code {
    case .loginRefused: "check the user in --url, --password-file, and pg_hba.conf of the server"
    case .tlsRefused: "check --ca-file, and the server's certificate, which has to name the host of the URL"
    case .unreachable: "start the server, or correct its address in --url"
    case .readOnly: "name the server that takes writes in --url"
    case .full: "free space on the server's disk"
    case .lockTimeout: "another store create or a backup holds the tables: run it again when that has ended"
    default: nil
    }
  }

  init(_ error: StoreError) {
    let code: Code =
      switch error.code {
      case .invalidURL: .usage
      case .loginRefused, .permission: .notPermitted
      case .tlsRefused, .schema, .misuse: .configuration
      case .readOnly, .constraint, .content, .statement: .refused
      default: .unavailable
      }
    self.init(code, error.description + (Self.remedy(error).map { ": \($0)" } ?? ""))
  }
}
