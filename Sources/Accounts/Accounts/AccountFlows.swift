import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import ServiceRuntime

struct AccountParts: Sendable {
  let rules: AccountRules
  let hashes: AccountHashes
  let idTokens: IDTokens
  let cookies: SessionCookies
  let sessions: Sessions
  let deletion: Deletion
  let reader: CommandReader
  /// Its keys open what the coordinator seals.
  let sealer: Sealer
  let grants: GrantSealer
  let sharedSecrets: SharedSecretSealer
  let providers: IdentityProviders
  let openID: OpenIDConfigurations
  let pageStates: PageStates
  var passwords: Passwords
  let mailLinks: MailLinks
  let metrics: MetricsRegistry
  let logger: Logger
  let replyQueue = Self.replyQueue

  private static let replyQueue = Topology.Queues.accountsReplies

  struct Secrets: Sendable {
    var hashes: AccountHashes
    var keys: KeyRing
    var tokenKeys: KeyRing
    var sealingKeys: PrivateSealingKeys
    var generate = generateSigningKey

    var checkValues: [CheckValue] {
      hashes.checkValues + CheckValue.all(tokenKeys, file: "tokenKeysFile")
        + CheckValue.all(sealingKeys.publicKeys, file: "sealingKeysFile")
    }
  }

  init?(
    _ rules: AccountRules, _ secrets: Secrets, providers: IdentityProviders = IdentityProviders([]),
    providerSecrets: ProviderSecrets = ProviderSecrets(), metrics: MetricsRegistry, logger: Logger
  ) {
    guard let refreshTokens = RefreshTokens(ring: secrets.tokenKeys) else { return nil }
    self.rules = rules
    self.providers = providers
    openID = OpenIDConfigurations(ring: secrets.tokenKeys, secrets: providerSecrets, logger: logger)
    pageStates = PageStates(ring: secrets.tokenKeys)
    passwords = Passwords(HashingPool(threads: rules.hashingThreads, places: AccountRules.hashingPlaces))
    self.metrics = metrics
    self.logger = logger
    hashes = secrets.hashes
    idTokens = IDTokens(
      keys: SigningKeys(ring: secrets.tokenKeys, rules: rules.keys, generate: secrets.generate),
      refreshTokens: refreshTokens)
    cookies = SessionCookies(
      SigningKeys(ring: secrets.tokenKeys, rules: rules.keys, purpose: .cookies, generate: secrets.generate),
      beside: idTokens.keys, metrics, logger)
    sessions = Sessions(rules: rules.sessions)
    deletion = Deletion(
      sessions: sessions,
      eraser: Eraser(
        projects: rules.projects, replyQueue: Self.replyQueue, metrics: ErasureMetrics(metrics, logger: logger)))
    reader = CommandReader(
      rules: rules, hashes: hashes, idTokens: idTokens, sealingKeys: secrets.sealingKeys,
      tickets: Tickets(hashes, ring: secrets.tokenKeys), limitMetrics: LimitMetrics(metrics))
    sealer = Sealer(keys: secrets.keys)
    grants = GrantSealer(secrets.tokenKeys)
    sharedSecrets = SharedSecretSealer(secrets.tokenKeys)
    mailLinks = MailLinks(hashes: hashes, tickets: reader.tickets, sealer: sealer)
  }
}

/// A flow is a folder and one line here: see docs/adding-a-flow.md.
struct AccountFlows: Sendable {
  let registry: FlowRegistry

  /// - Parameter pause: waits between looks of a reset.
  init(_ parts: AccountParts, pause: @escaping ResetFlow.Pause = Self.sleep) {
    // The keys come first: sign-in needs them.
    registry = FlowRegistry(
      [
        KeysFlow(parts),
        PhoneSignInFlow(parts),
        ProviderSignInFlow(parts),
        PasswordFlow(parts: parts),
        MailLinkFlow(parts: parts),
        SecondFactorFlow(parts),
        ConsentFlow(parts: parts),
        AccountFlow(parts),
        RevocationFlow(parts: parts),
        GrantFlow(parts),
        AppleNoticeFlow(parts: parts),
        ErasureFlow(parts),
        RefreshFlow(parts),
        AdministrationFlow(parts),
        ResetFlow(parts, pause: pause),
      ],
      missingFields: ["idToken": .missingIDToken, "refreshToken": .missingRefreshToken])
  }

  /// A canceled pause has ended, and its task looks at that itself.
  static let sleep: ResetFlow.Pause = { try? await Task.sleep(for: $0) }
}
