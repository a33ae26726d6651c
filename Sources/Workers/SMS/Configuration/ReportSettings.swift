import CountersignTelemetry
import ServiceRuntime

/// The section `receipts`: whether providers are asked for delivery reports, and where they send them.
struct ReportSettings: Sendable {
  struct Taking: Sendable {
    let addresses: ReportAddresses
    let listen: CommonConfiguration.HTTPConfiguration
    let connectionsPerClient: Int
  }

  /// `nil` if reports are not asked for.
  let taking: Taking?

  private static let minSecretLength = 16

  /// An eighth of the port's, so that one client cannot take all. Providers keep tens of connections.
  private static let usualConnectionsPerClient = 128

  /// On loopback the front is the only client, so it may have all connections.
  private static func connectionsPerClient(listeningOn host: String) -> Int {
    LocalHost.contains(host) ? Int(ReportService.maxConnections) : usualConnectionsPerClient
  }

  init(_ section: ConfigurationSection, health: CommonConfiguration.HTTPConfiguration) {
    let url = section.optionalString(
      "publicURL",
      "The public address of this worker's port for reports, without /receipts/, such as https://sms.example.com; absent: no reports."
    )
    let secret = section.secretFile(
      "secretFile", "A secret of at least 16 characters, the same for all workers: signs the addresses of the reports.")
    let maxAge = section.integer(
      "maxAgeHours", default: 96, in: 1...720, "How long after a message was sent reports on it are accepted.")
    let listen = CommonConfiguration.HTTPConfiguration(
      host: section.string(
        "host", default: "127.0.0.1", "The address on which reports are taken; 0.0.0.0 for all."),
      port: UInt16(
        section.integer(
          "port", default: 8091, in: 0...65_535, "The port on which reports are taken; 0 for any that is free.")))
    let connectionsPerClient = section.optionalInteger(
      "connectionsPerClient", in: 1...Int(ReportService.maxConnections),
      "Open connections of one client; a front in between is one client. Absent: all on loopback, where the front is the only one, else \(Self.usualConnectionsPerClient)."
    )
    guard let url else {
      taking = nil
      return
    }
    Self.check(url, section)
    section.check(
      "port", listen.port == 0 || listen.port != health.port || listen.host != health.host,
      "is also the port of health and metrics (http.port): this one may be reached from outside, so give it another")
    guard let secret else {
      section.problem("secretFile", "is required beside publicURL: name a file with a secret of 16 characters or more")
      taking = nil
      return
    }
    section.check(
      "secretFile", secret.reveal().utf8.count >= Self.minSecretLength,
      "holds less than \(Self.minSecretLength) characters")
    taking = Taking(
      addresses: ReportAddresses(publicURL: url, secret: secret, maxAge: .seconds(3600 * maxAge)),
      listen: listen, connectionsPerClient: connectionsPerClient ?? Self.connectionsPerClient(listeningOn: listen.host))
  }

  private static func check(_ url: String, _ section: ConfigurationSection) {
    let parts = URLParts(url)
    section.check("publicURL", parts != nil, "must be an http:// or https:// URL without query and fragment")
    section.checkPlaintext(
      "publicURL", parts?.isUnprotected == true, "is http:// over a network",
      crossing: "phone numbers, in what providers report,", remedy: "use https://")
  }
}
