import CountersignAMQP
import CountersignConcurrency
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPServer
import Projects
public import ServiceRuntime

/// Wires the gateway's services.
public enum GatewayServices {
  /// Services in the order in which they start. They stop in the reverse order: first the port, which finishes what
  /// began, then what the calls need, then the broker's connection.
  public static func make(
    _ configuration: GatewayConfiguration, _ context: ServiceContext
  ) throws(StartError) -> [any Service] {
    let source = ProjectsSource(configuration.projects.projects)
    let rules = try rules(
      isDevelopment: configuration.isDevelopment, host: configuration.listen.address.host,
      keys: configuration.accountsKeys, sealer: configuration.common.keys.map(Sealer.init(keys:)),
      simulatorURL: configuration.simulatorURL, source)
    let requests = RequestService(configuration, context)
    context.runtime.add { configuration.describe(&$0, source) }
    let metrics = GatewayMetrics(context.metrics)
    let broker = Broker(
      transport: requests.client, author: Author(appID: context.name, userID: requests.userID),
      clocks: context.clocks, metrics: metrics, logger: context.logger)
    let calls = GatewayCalls(rules, broker: broker, context: context)
    let endpoint = GatewayEndpoint(
      calls.routes, rules, proxies: configuration.proxies, maxInFlight: configuration.listen.maxInFlight,
      clock: context.clocks.monotonic, metrics: metrics, logger: context.logger)
    let port = try GatewayPort(configuration.listen, proxies: configuration.proxies, endpoint, context)
    let projects = FileWatcher.projects(configuration.projects.directory, source, context)
    if configuration.isDevelopment {
      context.logger.warning(
        "development mode: clients on this machine may empty accounts and read codes",
        [.hint: "set development to false wherever real users sign in"])
    }
    let keyEvents = KeyEvents(
      source: keyEvents(configuration, context), cache: calls.keys, log: context.logger.child("keys"))
    return [projects, requests] + calls.services + [keyEvents, port]
  }

  /// The gateway is ready without it: it then asks for the keys once a minute.
  private static func keyEvents(_ configuration: GatewayConfiguration, _ context: ServiceContext) -> Consumer {
    let broker = BrokerConnectionSettings(configuration.common.broker, context)
    return Consumer(
      endpoint: broker.endpoint, options: broker.options("events"),
      subscription: Consumer.Subscription(own: KeyEvents.queue, prefetch: KeyEvents.maxWaiting),
      onEvent: broker.observer("events"))
  }

  /// Rules of a configuration. Those of its own that no process may start without are checked again.
  static func rules(
    isDevelopment: Bool, host: String, keys: PublicSealingKeys?, sealer: Sealer?, simulatorURL: String?,
    _ source: ProjectsSource
  ) throws(StartError) -> GatewayRules {
    guard !isDevelopment || LocalHost.contains(host) else {
      throw StartError(
        .configuration, "development mode on \(host), which is not loopback",
        hint: "set listen.host to 127.0.0.1, or development to false")
    }
    guard let keys else {
      throw StartError(
        .configuration, "accountsKeysFile: no public keys of accounts",
        hint: "write the file with: countersign keys public")
    }
    do {
      return try GatewayRules(
        projects: source, isDevelopment: isDevelopment, sealingKeys: keys, sealer: sealer, simulatorURL: simulatorURL)
    } catch {
      throw StartError(.internalError, "a key pair cannot be made: \(error.message)", hint: nil)
    }
  }
}

struct RequestService: Service {
  let name = "requests"
  let client: RequestClient
  let userID: String

  /// Time for replies to commands that were sent when the port had stopped.
  private static let stopTime: Duration = .seconds(2)

  init(_ configuration: GatewayConfiguration, _ context: ServiceContext) {
    let broker = BrokerConnectionSettings(configuration.common.broker, context)
    // Unanswered commands are bounded by the calls in flight, which are fewer in all classes together.
    let client = RequestClient(
      endpoint: broker.endpoint, options: broker.options("requests"), exchange: Topology.Exchanges.commands,
      onEvent: broker.observer("requests"))
    broker.watch("requests") { client.status }
    self.client = client
    userID = broker.endpoint.username
  }

  func run() async { await client.run() }

  func stop() async { await client.stop(ceiling: Self.stopTime) }
}

final class GatewayPort: Service {
  let name = "listen"
  private let listener: HTTPListener
  private let stopRequested = Latch()

  /// Time for requests that began before the stop. Of the usual ceiling, 20 s, something is left for the others.
  private static let stopTime: Duration = .seconds(16)

  init(
    _ settings: ListenSettings, proxies: TrustedProxies, _ endpoint: GatewayEndpoint, _ context: ServiceContext
  ) throws(StartError) {
    var limits = HTTPServerLimits(
      connections: UInt32(clamping: settings.connections), connectionsPerClient: settings.connectionsPerClient,
      idleTimeout: CallLimits.idleTimeout, requestTime: CallLimits.requestTime,
      connectionMemoryBytes: CallLimits.maxHeaderBytes,
      isProxy: { IPAddress($0).map(proxies.contains) ?? false })
    limits.longBodies = HTTPServerLimits.LongBodies(
      atOnce: CallLimits.maxLongBodiesAtOnce, maxBytes: { endpoint.maxBodyBytes(of: $0) })
    listener = try HTTPListener(
      settings.address, section: "listen", metrics: context.metrics, maxBodyBytes: CallLimits.maxBodyBytes,
      limits: limits, refusal: { endpoint.refusal($0, $1) }, handler: { await endpoint.answer($0) })
    context.logger.info("answering clients", ["http": "\(settings.address.host):\(listener.port)"])
  }

  var port: UInt16 { listener.port }

  func run() async {
    await stopRequested.waitIgnoringCancellation()
    await listener.stop(grace: Self.stopTime)
  }

  func stop() async { stopRequested.open() }
}
