import HTTPServer
import Telemetry

/// Finds who answers a request.
struct Router: Sendable {
  private let twilio: TwilioMessages
  private let webhook: WebhookReceiver
  private let control: ControlAPI
  private let metrics: MetricsRegistry

  init(
    _ settings: SimulatorSettings, metrics: MetricsRegistry, clock: any WallClock,
    random: @escaping @Sendable () -> Double
  ) throws(SimulationError) {
    let store = MessageStore(capacity: settings.maxMessages)
    let faults = FaultRegistry(random: random)
    let inbox = ProviderInbox(store: store, faults: faults, clock: clock, metrics: metrics)
    twilio = TwilioMessages(settings, inbox: inbox)
    webhook = WebhookReceiver(
      verifier: try WebhookVerifier(settings.webhookSecret, tolerance: settings.timestampTolerance), inbox: inbox)
    control = ControlAPI(store: store, faults: faults)
    self.metrics = metrics
  }

  func reply(_ request: HTTPServerRequest) async -> HTTPServerReply {
    let parts = request.path.split(separator: "/")
    switch parts.first {
    case "2010-04-01": return await twilio.reply(request, parts)
    case "webhook" where parts == ["webhook", "sms"]: return await webhook.reply(request)
    case "control": return .respond(control.answer(request, parts.dropFirst()))
    default: return .respond(health(request))
    }
  }

  /// There is nothing that it waits for: once it answers it is ready.
  private func health(_ request: HTTPServerRequest) -> HTTPServerResponse {
    switch request.path {
    case "/livez": HTTPServerResponse(status: 200, text: "ok\n")
    case "/readyz": .json(status: 200, "{\"ready\":true,\"checks\":[]}")
    case "/metrics":
      HTTPServerResponse(
        status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", text: metrics.render())
    default:
      HTTPServerResponse(status: 404, text: "There is no \(request.path) here; GET /control says what there is.\n")
    }
  }
}
