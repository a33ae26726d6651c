import CountersignTelemetry
import HTTPClient
import HTTPServer

struct Router: Sendable {
  let gate: ProviderGate
  let receipts: ReceiptReporter
  private let aws: AWSStub
  private let paths: [String: any ProviderStub]
  /// By the first part of their paths, which go on with an account, a token or a project.
  private let roots: [Substring: any ProviderStub]
  /// Below a version: `/v23.0/me`.
  private let graph: FacebookGraphStub
  /// Below a version too: `/v23.0/dialog/oauth`.
  private let dialog: AuthorizationStub<FacebookProfile>
  private let control: ControlAPI
  private let metrics: MetricsRegistry

  init(
    _ settings: SimulatorSettings, metrics: MetricsRegistry, clock: any WallClock,
    random: @escaping @Sendable () -> Double
  ) throws(SimulationError) {
    let store = MessageStore(capacity: settings.maxMessages)
    let faults = FaultRegistry(random: random)
    let callbacks = CallbackURL(allowsLocal: settings.allowsLocalCallbacks)
    let notices: AppleNoticeSender
    do {
      receipts = try ReceiptReporter(metrics: metrics, clock: clock)
      notices = try AppleNoticeSender()
    } catch {
      throw SimulationError(code: .cannotListen, description: error.description)
    }
    control = ControlAPI(
      store: store, faults: faults, receipts: receipts, pushes: Journal(capacity: settings.maxMessages),
      devices: DeviceRegistry(), recaptcha: RecaptchaTokens(), accessTokens: IssuedTokens(), grants: GrantStore(),
      identities: IdentityControl(seen: Journal(capacity: settings.maxMessages), notices: notices),
      revocations: Journal(capacity: settings.maxMessages),
      mails: Journal(capacity: settings.maxMessages),
      clientIDs: settings.appleID.clientIDs, clock: clock)
    let vonage = VonageStub(settings: settings.vonage, store: store, receipts: receipts, callbacks: callbacks)
    let messageBird = MessageBirdStub(
      settings: settings.messageBird, store: store, receipts: receipts, callbacks: callbacks)
    let verifier = try WebhookVerifier(settings.webhookSecret, tolerance: settings.timestampTolerance)
    let (control, identities, appleKeys) = (control, control.identities, try TokenKeys(settings.appleID.keys))
    func apple(_ provider: Provider) -> AppleIDStub {
      AppleIDStub(
        provider: provider, settings: settings.appleID, keys: appleKeys, idTokenKeys: identities.apple.keys,
        grants: control.grants, revocations: control.revocations)
    }
    gate = ProviderGate(store: store, faults: faults, clock: clock, metrics: metrics)
    aws = AWSStub(settings: settings.aws, store: store)
    paths = [
      "/webhook/sms": WebhookStub(verifier: verifier, store: store),
      "/sms/json": vonage, "/account/get-balance": vonage, "/messages": messageBird, "/balance": messageBird,
      "/recaptcha/api/siteverify": SiteVerifyStub(settings: settings.recaptcha, tokens: control.recaptcha),
      "/token": try GoogleTokenStub(
        settings.recaptcha.serviceAccount, tokens: control.accessTokens,
        codes: GoogleCodes(google: identities.google, clients: ClientCheck(secrets: settings.pages.google))),
      "/auth/token": apple(.appleToken), "/auth/revoke": apple(.appleRevoke),
    ].merging(Self.identities(identities)) { $1 }
      .merging(Self.openID(identities, ClientCheck(secrets: settings.pages.openID))) { $1 }
      .merging(Self.pages(control, settings)) { $1 }
    graph = FacebookGraphStub(
      settings: settings.facebook, users: identities.facebook.users,
      codes: FacebookCodes(settings: settings.facebook, facebook: identities.facebook))
    dialog = Self.page(identities.facebook, [settings.facebook.appID], identities, settings)
    roots = [
      "2010-04-01": TwilioStub(settings, store: store, receipts: receipts),
      "3": try APNsStub(settings.apns, devices: control.devices, pushes: control.pushes),
      "v1": AssessmentStub(
        settings: settings.recaptcha, tokens: control.recaptcha, accessTokens: control.accessTokens),
    ]
    self.metrics = metrics
  }

  func reply(_ request: HTTPServerRequest) async -> HTTPServerReply {
    let parts = request.path.split(separator: "/")
    if let stub = stub(request, parts.first ?? "") { return await gate.reply(request, by: stub) }
    guard parts.first == "control" else { return .respond(health(request)) }
    return .respond(control.answer(request, parts.dropFirst()))
  }

  private func stub(_ request: HTTPServerRequest, _ root: Substring) -> (any ProviderStub)? {
    if request.headers[AWSStub.target] != nil { return aws }
    if FacebookGraphStub.isVersion(root) { return request.path.hasSuffix("/dialog/oauth") ? dialog : graph }
    return paths[request.path] ?? roots[root]
  }

  private static func identities(_ identities: IdentityControl) -> [String: any ProviderStub] {
    let google = GoogleUserStub(users: identities.google.users)
    return [
      "/auth/keys": KeySetStub(provider: .appleKeys, keys: identities.apple.keys),
      "/oauth2/v3/certs": KeySetStub(
        provider: .googleKeys, keys: identities.google.keys, cacheControl: "public, max-age=19800, must-revalidate"),
      "/tokeninfo": google, "/v1/userinfo": google,
      "/.well-known/oauth/openid/jwks/": KeySetStub(provider: .facebookKeys, keys: identities.facebook.keys),
    ]
  }

  private static func openID(_ identities: IdentityControl, _ clients: ClientCheck) -> [String: any ProviderStub] {
    func stub(_ provider: Provider) -> OpenIDStub {
      OpenIDStub(provider: provider, metadata: identities.metadata, openID: identities.openID, clients: clients)
    }
    return [
      "/oidc/.well-known/openid-configuration": stub(.openIDDiscovery), "/oidc/token": stub(.openIDToken),
      "/oidc/userinfo": stub(.openIDUser),
      "/oidc/keys": KeySetStub(provider: .openIDKeys, keys: identities.openID.keys),
    ]
  }

  private static func pages(_ control: ControlAPI, _ settings: SimulatorSettings) -> [String: any ProviderStub] {
    let (identities, grants) = (control.identities, control.grants)
    var apple = page(identities.apple, settings.appleID.clientIDs, identities, settings)
    apple.issue = { grants.issue($0, now: $1) }
    return [
      "/auth/authorize": apple,
      "/o/oauth2/v2/auth": page(identities.google, settings.pages.google.keys, identities, settings),
      "/oidc/authorize": page(identities.openID, settings.pages.openID.keys, identities, settings),
    ]
  }

  private static func page<Profile>(
    _ identity: IdentityProvider<Profile>, _ clients: some Sequence<String>, _ identities: IdentityControl,
    _ settings: SimulatorSettings
  ) -> AuthorizationStub<Profile> {
    AuthorizationStub(
      identity: identity, clients: Set(clients), redirectURIs: settings.pages.redirectURIs, seen: identities.seen)
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
