internal import CountersignAMQP
internal import CountersignTelemetry
internal import ServiceRuntime

/// Where the operator's commands find things: from the environment and, below it, a file. Everything may be absent; a
/// command asks for what it needs.
struct OperatorConfiguration: Configuration {
  /// A user's way to the broker.
  struct Broker: Sendable {
    let url: Secret?
    let password: Secret?
    let caFile: String?
    /// Whether the password may cross the network readable.
    let allowsPlaintext: Bool
    /// The key of the URL, and its variable, for the message that it is missing.
    let key: String

    init(_ section: ConfigurationSection, who: String) {
      key = "\(section.path).url"
      url = section.optionalString("url", "The broker for \(who), amqp://USER@HOST:PORT/VHOST.").map { Secret($0) }
      password = section.secretFile("passwordFile", "The file with the password of the user in the URL.")
      caFile = section.path("caFile", "Certificates to trust for amqps, PEM; those of the system if absent.")
      allowsPlaintext = section.bool(
        "allowPlaintext", default: false,
        "Whether amqp:// to another machine is allowed: the password is readable on the way.")
    }
  }

  /// As a service that uses Countersign.
  let service: Broker
  /// As the operator.
  let operatorUser: Broker
  /// The management API; a user in the URL or, with its password, that of the operator's broker.
  let managementURL: Secret?
  /// Certificates that the management API's must come from; those of the system if nil.
  let managementCAFile: String?
  /// Whether the operator's password may cross the network readable.
  let allowsPlaintextManagement: Bool
  /// Health of the coordinator, and of the workers.
  let coordinatorURL: String?
  let workers: [(name: String, urls: [String])]
  /// Where the processes' configuration files are.
  let configDirectory: String?

  init(_ section: ConfigurationSection) {
    service = Broker(section.section("amqp"), who: "verify and enqueue")
    operatorUser = Broker(section.section("operator").section("amqp"), who: "dead and doctor")
    let management = section.section("management")
    managementURL = management.optionalString(
      "url", "The management API of the broker, https://USER:PASSWORD@HOST:15671."
    ).map { Secret($0) }
    managementCAFile = management.path(
      "caFile", "Certificates that the management API's must come from, PEM; those of the system if absent.")
    allowsPlaintextManagement = management.bool(
      "allowPlaintext", default: false,
      "Whether http:// to another machine is allowed: the password is readable on the way.")
    coordinatorURL = section.section("coordinator").optionalString(
      "url", "Where the coordinator serves its health, http://HOST:PORT.")
    workers = [
      ("sms-worker", "smsWorker"), ("push-worker", "pushWorker"), ("revocation-worker", "revocationWorker"),
      ("mail-worker", "mailWorker"),
    ].map { name, key in
      (name, section.section(key).strings("urls", "Where each \(name) serves its health, http://HOST:PORT."))
    }
    configDirectory = section.section("config").path(
      "dir", "Where the configuration files of the processes are, for the doctor.")
  }
}

extension OperatorConfiguration.Broker {
  /// The broker's address with the user and the password that apply.
  /// - Throws: when it is not known, or no URL.
  func endpoint() throws(OperationsError) -> BrokerEndpoint {
    guard let url else {
      let variable = key == "amqp.url" ? "COUNTERSIGN_AMQP_URL" : "COUNTERSIGN_OPERATOR_AMQP_URL"
      throw OperationsError(
        .configuration, "the broker's address is not known: set \(variable), or \(key) in Config/countersign.json5")
    }
    var endpoint: BrokerEndpoint
    do {
      endpoint = try BrokerEndpoint(url: url.reveal())
    } catch {
      throw OperationsError(error)
    }
    if let password { endpoint.password = password.reveal() }
    if let caFile, endpoint.tls != nil { endpoint.tls?.caFile = caFile }
    try refusePlaintext(to: endpoint)
    return endpoint
  }

  private func refusePlaintext(to endpoint: BrokerEndpoint) throws(OperationsError) {
    guard endpoint.tls == nil, !LocalHost.contains(endpoint.host), !allowsPlaintext else { return }
    let key = key.replacing(".url", with: ".allowPlaintext")
    throw OperationsError(
      .configuration,
      "the broker at \(endpoint) is on another machine without TLS, so the password would be readable on the way: use amqps://, or set \(key)"
    )
  }
}
