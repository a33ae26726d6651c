public import CountersignAMQP
public import CountersignTelemetry

/// The section `broker`: hosts of the broker, and our identity to it.
public struct BrokerConfiguration: Sendable {
  /// Hosts, user, password, TLS. Does not print the password.
  public let endpoint: BrokerEndpoint
  /// Maximum silence of an idle connection.
  public let heartbeat: Duration
  /// The password as its file has it now. Absent without `passwordFile`.
  public let currentPassword: (@Sendable () -> Secret?)?

  public init(_ section: ConfigurationSection) {
    let url = section.string(
      "url",
      "The broker's address, amqp://user@host:5672/vhost or amqps://user@host:5671/vhost; a cluster's nodes with commas: amqps://user@host1,host2,host3/vhost."
    )
    let password = section.secretFile(
      "passwordFile",
      "The file with the password of the user in the URL, read at each connect; takes precedence over a password in the URL."
    )
    currentPassword = section.currentSecret("passwordFile")
    heartbeat = section.seconds(
      "heartbeatSeconds", default: .seconds(20), in: .seconds(1)...(.seconds(600)),
      "How long an idle connection may be silent before heartbeats are sent; two missed ones end it.")
    let tls = TLS(section.section("tls"))
    endpoint = Self.endpoint(section, url, password, tls)
  }

  private struct TLS {
    let caFile, certificateFile, keyFile: String?

    init(_ section: ConfigurationSection) {
      caFile = section.path("caFile", "Certificates to trust, PEM; those of the system if absent.")
      certificateFile = section.path("certificateFile", "The client's certificate, PEM.")
      keyFile = section.path("keyFile", "The key of the client's certificate, PEM.")
      if (certificateFile == nil) != (keyFile == nil) {
        let missing = certificateFile == nil ? "certificateFile" : "keyFile"
        section.problem(missing, "is required together with the other one of the pair: give both or neither")
      }
    }

    var isEmpty: Bool { caFile == nil && certificateFile == nil && keyFile == nil }
  }

  private static func endpoint(
    _ section: ConfigurationSection, _ url: String, _ password: Secret?, _ tls: TLS
  ) -> BrokerEndpoint {
    let standIn = BrokerEndpoint(host: "localhost", port: 5672)
    guard !url.isEmpty else { return standIn }
    do {
      var endpoint = try BrokerEndpoint(url: url)
      if let password { endpoint.password = password.reveal() }
      if endpoint.username.isEmpty {
        section.problem(
          "url",
          "names no user, but each message carries its name: write amqps://user@host, even with a client certificate"
        )
      }
      if endpoint.tls != nil {
        endpoint.tls = TLSSettings(caFile: tls.caFile, certificateFile: tls.certificateFile, keyFile: tls.keyFile)
      } else if !tls.isEmpty {
        section.problem("tls", "has no effect with an amqp:// URL; write amqps:// in broker.url")
      }
      // With a client's certificate and no password the certificate is our identity.
      let isCertified = endpoint.tls != nil && tls.certificateFile != nil
      section.check(
        "passwordFile", !endpoint.password.isEmpty || isCertified || section.isGiven("passwordFile"),
        "is required: the user of broker.url needs a password; name the file that holds it")
      section.checkPlaintext(
        "url", endpoint.isUnprotected, "is amqp:// to another machine",
        crossing: "the password and phone numbers", remedy: "use amqps://")
      return endpoint
    } catch {
      section.problem("url", error.message)
      return standIn
    }
  }
}
