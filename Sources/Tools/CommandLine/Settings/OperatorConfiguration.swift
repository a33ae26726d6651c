import CountersignAMQP
import CountersignTelemetry
import ServiceRuntime

/// From the environment and, after it, a file. A command demands those addresses that it needs.
struct OperatorConfiguration: Configuration {
  struct Broker: Sendable {
    let url: Secret?
    let password: Secret?
    let caFile: String?
    let allowsPlaintext: Bool
    /// Key of the URL, for the message that it is missing.
    let key: String

    init(_ section: ConfigurationSection, for commands: String) {
      key = "\(section.path).url"
      url = section.optionalString(
        "url", "The broker for \(commands), amqp://USER@HOST:PORT/VHOST; several hosts with commas."
      ).map { Secret($0) }
      password = section.secretFile("passwordFile", "The file with the password of the user in the URL.")
      caFile = section.path("caFile", "Certificates to trust for amqps, PEM; those of the system if absent.")
      allowsPlaintext = section.bool(
        "allowPlaintext", default: false,
        "Whether amqp:// to another machine is allowed: the password is readable on the way.")
    }
  }

  let service: Broker
  let operatorUser: Broker
  /// Without a user in the URL, the operator's user and password apply.
  let managementURL: Secret?
  /// Those of the system if `nil`.
  let managementCAFile: String?
  let allowsPlaintextManagement: Bool
  /// Health endpoints of the coordinators and of the workers.
  let coordinatorURLs: [String]
  let workers: [(name: String, urls: [String])]
  /// Health endpoints of accounts and of the gateways. An installation may do without them.
  let services: [(name: String, urls: [String])]
  /// Public keys of accounts, as the gateway has them.
  let accountsKeysFile: String?
  /// Addresses of the gateway for apps, whose certificates end.
  let gatewayURLs: [String]
  var configDirectory: String?

  init(_ section: ConfigurationSection) {
    service = Broker(section.section("amqp"), for: "verify and enqueue")
    operatorUser = Broker(section.section("operator").section("amqp"), for: "dead and doctor")
    let management = section.section("management")
    managementURL = management.optionalString(
      "url", "The management API of the broker, https://USER:PASSWORD@HOST:15671; several hosts with commas."
    ).map { Secret($0) }
    managementCAFile = management.path(
      "caFile", "Certificates to trust for the management API, PEM; those of the system if absent.")
    allowsPlaintextManagement = management.bool(
      "allowPlaintext", default: false,
      "Whether http:// to another machine is allowed: the password is readable on the way.")
    let coordinator = section.section("coordinator")
    let url = coordinator.optionalString("url", "Health endpoint of the coordinator, http://HOST:PORT.")
    let urls = coordinator.strings("urls", "Health endpoint of each coordinator, if there are several.")
    // A list of commas is what the other keys take in the environment.
    coordinatorURLs = (urls.isEmpty ? url.map { [$0] } ?? [] : urls).flatMap {
      $0.split(separator: ",").map(String.init)
    }
    gatewayURLs = section.section("gateway").strings(
      "tlsURL",
      "Address of the gateway for apps, https://HOST, whose certificate the doctor looks at; several with commas.")
    workers = [
      ("sms-worker", "smsWorker"), ("push-worker", "pushWorker"), ("revocation-worker", "revocationWorker"),
      ("mail-worker", "mailWorker"), ("webhook-worker", "webhookWorker"),
    ].map { name, key in
      (name, section.section(key).strings("urls", "Health endpoint of each \(name), http://HOST:PORT."))
    }
    services = [("accounts", "accounts", "urls"), ("gateway", "gateway", "healthURLs")].map { name, key, urls in
      (name, section.section(key).strings(urls, "Health endpoint of each \(name), http://HOST:PORT."))
    }
    accountsKeysFile = section.section("accounts").path(
      "keysFile", "Public keys of accounts, the gateway's accountsKeysFile: commands about users are sealed to them.")
    configDirectory = section.section("config").path(
      "dir", "Directory of the processes' configuration files, for the doctor.")
  }
}

extension OperatorConfiguration.Broker {
  func endpoint() throws(CommandLineError) -> BrokerEndpoint {
    guard let url else {
      let variable = key == "amqp.url" ? "COUNTERSIGN_AMQP_URL" : "COUNTERSIGN_OPERATOR_AMQP_URL"
      throw CommandLineError(
        .configuration, "the broker's address is not known: set \(variable), or \(key) in countersign.json5")
    }
    var endpoint: BrokerEndpoint
    do {
      endpoint = try BrokerEndpoint(url: url.reveal())
    } catch {
      throw CommandLineError(error)
    }
    if let password { endpoint.password = password.reveal() }
    if let caFile, endpoint.tls != nil { endpoint.tls?.caFile = caFile }
    try refusePlaintext(to: endpoint)
    return endpoint
  }

  private func refusePlaintext(to endpoint: BrokerEndpoint) throws(CommandLineError) {
    guard endpoint.isUnprotected, !allowsPlaintext else { return }
    let key = key.replacing(".url", with: ".allowPlaintext")
    throw CommandLineError(
      .configuration,
      "the broker at \(endpoint) is on another machine without TLS, so the password would be readable on the way: use amqps://, or set \(key)"
    )
  }
}
