import CountersignTelemetry
import HTTPClient
import HTTPServer

/// Finds the simulated service that answers a request.
struct Router: Sendable {
  private let twilio: TwilioMessages
  private let webhook: WebhookReceiver
  private let vonage: VonageMessages
  private let messageBird: MessageBirdMessages
  private let aws: AWSMessaging
  private let apns: APNsGateway
  /// Parts that the SMPP server shares with the others.
  let inbox: ProviderInbox
  let receipts: ReceiptReporter
  private let assessments: Assessments
  private let googleTokens: GoogleTokenService
  private let siteVerify: SiteVerify
  private let appleID: AppleIDService
  private let control: ControlAPI
  private let metrics: MetricsRegistry

  init(
    _ settings: SimulatorSettings, metrics: MetricsRegistry, clock: any WallClock,
    random: @escaping @Sendable () -> Double
  ) throws(SimulationError) {
    let store = MessageStore(capacity: settings.maxMessages)
    let faults = FaultRegistry(random: random)
    let gate = ProviderGate(faults: faults, clock: clock, metrics: metrics)
    let inbox = ProviderInbox(store: store, gate: gate)
    let receipts = try Self.reporter(metrics, clock)
    let callbacks = CallbackURL(allowsLocal: settings.allowsLocalCallbacks)
    self.inbox = inbox
    self.receipts = receipts
    aws = AWSMessaging(settings.aws, inbox: inbox)
    twilio = TwilioMessages(settings, inbox: inbox, receipts: receipts)
    webhook = WebhookReceiver(
      verifier: try WebhookVerifier(settings.webhookSecret, tolerance: settings.timestampTolerance), inbox: inbox)
    vonage = VonageMessages(
      settings: settings.vonage, inbox: inbox, receipts: receipts, callbacks: callbacks)
    messageBird = MessageBirdMessages(
      settings: settings.messageBird, inbox: inbox, receipts: receipts, callbacks: callbacks)
    let pushes = PushControl(pushes: Journal(capacity: settings.maxMessages), devices: DeviceRegistry())
    apns = try APNsGateway(settings.apns, devices: pushes.devices, pushes: pushes.pushes, gate: gate)
    let recaptcha = RecaptchaControl(tokens: RecaptchaTokens())
    let accessTokens = IssuedTokens()
    assessments = Assessments(
      settings: settings.recaptcha, tokens: recaptcha.tokens, accessTokens: accessTokens, gate: gate)
    googleTokens = try GoogleTokenService(settings.recaptcha.serviceAccount, tokens: accessTokens, gate: gate)
    siteVerify = SiteVerify(settings: settings.recaptcha, tokens: recaptcha.tokens, gate: gate)
    let apple = AppleIDControl(
      grants: GrantStore(), revocations: Journal(capacity: settings.maxMessages),
      clientIDs: settings.appleID.clientIDs, clock: clock)
    appleID = try AppleIDService(
      settings.appleID, grants: apple.grants, revocations: apple.revocations, gate: gate)
    control = ControlAPI(
      store: store, faults: faults, receipts: receipts, pushes: pushes, recaptcha: recaptcha,
      accessTokens: accessTokens, apple: apple)
    self.metrics = metrics
  }

  private static func reporter(
    _ metrics: MetricsRegistry, _ clock: any WallClock
  ) throws(SimulationError) -> ReceiptReporter {
    do {
      return try ReceiptReporter(metrics: metrics, clock: clock)
    } catch {
      throw SimulationError(code: .cannotListen, description: error.description)
    }
  }

  func reply(_ request: HTTPServerRequest) async -> HTTPServerReply {
    let parts = request.path.split(separator: "/")
    if request.headers[AWSMessaging.target] != nil { return await aws.reply(request) }
    switch parts.first {
    case "2010-04-01": return await twilio.reply(request, parts)
    case "webhook" where parts == ["webhook", "sms"]: return await webhook.reply(request)
    case "sms" where parts == ["sms", "json"]: return await vonage.reply(request)
    case "account" where parts == ["account", "get-balance"]: return vonage.balance(request)
    case "balance" where parts == ["balance"]: return messageBird.balance(request)
    case "messages" where parts == ["messages"]: return await messageBird.reply(request)
    case "3": return await apns.reply(request, parts)
    case "v1": return await assessments.reply(request, parts)
    case "recaptcha" where parts == ["recaptcha", "api", "siteverify"]: return await siteVerify.reply(request)
    case "token" where parts == ["token"]: return await googleTokens.reply(request)
    case "auth": return await appleID.reply(request, parts)
    case "control": return .respond(control.answer(request, parts.dropFirst()))
    default: return .respond(health(request))
    }
  }

  /// The simulator waits for nothing: once it answers it is ready.
  private func health(_ request: HTTPServerRequest) -> HTTPServerResponse {
    switch request.path {
    case "/livez": HTTPServerResponse(status: 200, text: "ok\n")
    case "/readyz": .json(status: 200, "{\"ready\":true,\"checks\":[]}")
    case "/metrics":
      HTTPServerResponse(
        status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", text: metrics.render())
    default:
      HTTPServerResponse(status: 404, text: "\(request.path) does not exist; GET /control lists the paths.\n")
    }
  }
}
