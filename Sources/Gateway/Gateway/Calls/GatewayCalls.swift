import CountersignMessages
import CountersignTelemetry
import HTTPClient
import ServiceRuntime

struct GatewayCalls: Sendable {
  let routes: [Route]
  /// Services of the calls in the order in which they start, between the broker's connection and the port.
  let services: [any Service]
  let keys: KeyCache

  init(_ rules: GatewayRules, broker: Broker, context: ServiceContext) {
    self.init(
      rules, broker: broker, context: context,
      messages: rules.isDevelopment ? rules.simulatorURL.flatMap(Self.simulator) : nil)
  }

  init(
    _ rules: GatewayRules, broker: Broker, context: ServiceContext, messages: (any SentMessages)?,
    pause: @escaping DevelopmentCalls.Pause = { try? await Task.sleep(for: $0) }
  ) {
    let log = MisconfigurationLog(
      metrics: broker.metrics, logger: context.logger, clock: context.clocks.monotonic)
    let backend = Backend(rules: rules, broker: broker, misconfigurations: log)
    let keys = KeyCache(clock: context.clocks.monotonic, log: context.logger.child("keys"), metrics: context.metrics) {
      () async throws(ProtocolError) -> KeysPublished in try await backend.ask(GetKeys())
    }
    let codes = rules.isDevelopment ? SentCodes() : nil
    var routes = PhoneCalls(backend: backend, codes: codes, clock: context.clock).routes
    routes += SecondFactorCalls(backend: backend, codes: codes, clock: context.clock).routes
    routes += AccountCalls(backend: backend).routes
    routes += PasswordCalls(backend: backend).routes
    routes += MailLinkCalls(backend: backend).routes
    routes += ActionPage(backend: backend, isDevelopment: rules.isDevelopment).routes
    routes += SignInPage(backend: backend, isDevelopment: rules.isDevelopment).routes
    routes += ConsentCalls(backend: backend).routes
    routes += UserCalls(backend: backend).routes
    routes += BatchCalls(backend: backend).routes
    routes += AccessCalls(backend: backend).routes
    routes += SettingsCalls(backend: backend).routes
    routes += ProviderConfigurationCalls(backend: backend).routes
    routes += VerificationCalls(backend: backend).routes
    routes += ProviderCalls(backend: backend).routes
    routes += AppleNoticeCalls(backend: backend, projects: rules.projects).routes
    routes += TokenCall(backend: backend).routes
    routes += ProjectCalls(isDevelopment: rules.isDevelopment).routes
    routes += Route.keys(keys)
    if let codes {
      routes += SettingsCalls(backend: backend).developmentRoutes
      routes +=
        DevelopmentCalls(backend: backend, codes: codes, messages: messages, clock: context.clock, pause: pause).routes
    }
    self.routes = routes + Route.notOffered
    services = [keys]
    self.keys = keys
  }

  private static func simulator(_ url: String) -> (any SentMessages)? {
    (try? HTTPClient()).map { SimulatorMessages(url, client: $0) }
  }
}
