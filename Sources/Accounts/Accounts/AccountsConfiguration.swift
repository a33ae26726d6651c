import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects
public import ServiceRuntime

/// Configuration of accounts. `Config/accounts.json5` explains each key.
public struct AccountsConfiguration: ProcessConfiguration {
  /// Broker, logs, health, keys, stop.
  public let common: CommonConfiguration
  let database: DatabaseSettings
  /// `nil` when a file is missing or wrong.
  let secrets: AccountParts.Secrets?
  let projects: ProjectsDirectory
  let rules: AccountRules
  let providers: ProvidersConfiguration
  let prefetch: Int
  let maintenanceInterval: Duration

  /// Reads the configuration. Problems are reported to the section.
  public init(_ section: ConfigurationSection) {
    common = CommonConfiguration(section, defaultHTTPPort: 8085)
    database = DatabaseSettings(
      section.section("database"), of: "accounts process", defaultPath: "/var/lib/countersign/accounts.sqlite")
    let isDevelopment = section.bool(
      "development", default: false,
      "Whether tests may delete all accounts, make any number of them, and write credentials of providers.")
    projects = ProjectsDirectory(section, isDevelopment: isDevelopment)
    rules = AccountRules(section, ProjectsSource(projects.projects), isDevelopment: isDevelopment)
    providers = ProvidersConfiguration(section)
    providers.check(projects.projects, section)
    secrets = Self.secrets(section, common.keys)
    prefetch = section.integer(
      "prefetch", default: 512, in: 1...10_000, "Messages that are taken from each queue ahead.")
    maintenanceInterval = section.seconds(
      "maintenanceSeconds", default: .seconds(1), in: .milliseconds(100)...(.seconds(60)),
      "How often what is due, left over or old is looked for, and the signing keys are read.")
    if common.keys?.sealing == nil {
      section.problem(
        "keysFile", "must hold a key, because codes are always sealed; make one with: countersign keys generate")
    }
  }

  func describe(_ report: inout RuntimeReport, _ secrets: AccountParts.Secrets) {
    report.queues += [Topology.Queues.accountsCommands, Topology.Queues.accountsReplies]
    report.keys.tokens = secrets.tokenKeys.opening.keys.sorted()
    report.keys.pairs = secrets.sealingKeys.publicKeys.map(\.id)
    report.projects = rules.projects.current.appsByProject
    report.isDevelopment = rules.isDevelopment
    report.fictionalRefusals = rules.fictionalRefusals.total
    report.guarded?.checkValues += secrets.checkValues + providers.checkValues
  }

  // MARK: Secrets

  private static func secrets(_ section: ConfigurationSection, _ keys: KeyRing?) -> AccountParts.Secrets? {
    let hashes = hashes(section)
    let tokenKeys = section.keyRing(
      "tokenKeysFile",
      section.requiredSecretFile(
        "tokenKeysFile",
        "The keys of refresh tokens and of the stored signing keys, a JWK set: the first makes new ones, all are accepted."
      ))
    let sealingKeys = sealingKeys(section)
    guard let hashes, let tokenKeys, let sealingKeys, let keys else { return nil }
    return AccountParts.Secrets(hashes: hashes, keys: keys, tokenKeys: tokenKeys, sealingKeys: sealingKeys)
  }

  private static func hashes(_ section: ConfigurationSection) -> AccountHashes? {
    let text = section.requiredSecretFile(
      "pepperFile", "The secret that hashes are made with: make one with 'openssl rand -base64 32'."
    ).reveal()
    let previous = section.secretFile("previousPepperFile", "The pepper before the last change, for an hour after it.")
    guard !text.isEmpty else { return nil }
    let former = previous.flatMap { hashes(section, "previousPepperFile", $0.reveal(), former: nil) }
    return hashes(section, "pepperFile", text, former: former)
  }

  private static func hashes(
    _ section: ConfigurationSection, _ key: String, _ text: String, former: AccountHashes?
  ) -> AccountHashes? {
    let hashes = AccountHashes(pepper: Array(text.utf8), former: former)
    if hashes == nil {
      section.problem(
        key, "has less than \(AccountHashes.minimumLength) bytes: make one with 'openssl rand -base64 32'")
    }
    return hashes
  }

  private static func sealingKeys(_ section: ConfigurationSection) -> PrivateSealingKeys? {
    let text = section.requiredSecretFile(
      "sealingKeysFile",
      "The private keys that open what the gateway seals, a JWK set; the gateway has the public ones."
    ).reveal()
    guard !text.isEmpty else { return nil }
    do {
      return try PrivateSealingKeys(jwkSet: Array(text.utf8))
    } catch {
      section.problem("sealingKeysFile", "holds no usable keys: \(error.message)")
      return nil
    }
  }
}

extension AccountRules {
  init(_ section: ConfigurationSection, _ projects: ProjectsSource, isDevelopment: Bool) {
    self.init(projects: projects)
    self.isDevelopment = isDevelopment
    requesters = Set(
      section.strings(
        "requesters", default: Self.defaultRequesters.sorted(), "Users of the broker whose commands are carried out."))
    operators = Set(
      section.strings(
        "operators", default: Self.defaultOperators.sorted(),
        "Users of the broker whose commands for operators are carried out: keys.rotate, and those of administrators."))
    tokenURIs = Set(
      section.section("administrators").strings(
        "tokenURIs", default: Self.defaultTokenURIs.sorted(),
        "Addresses that service accounts may name as the audience of their assertions: 'token_uri' of their key files."
      ))
    let limits = Limits(section.section("limits"))
    self.limits = isDevelopment ? .development : limits
    hashingThreads = section.section("passwords").integer(
      "hashingThreads", default: hashingThreads, in: 1...64,
      "Passwords that are hashed at a time, each with 19 MiB and a core.")
    sessions = SessionRules(section.section("sessions"))
    keys = SigningKeyRules(section.section("keys"))
    maxCommandAge = section.section("commands").seconds(
      "maxAgeSeconds", default: maxCommandAge, in: .seconds(1)...(.seconds(86_400)),
      "How old a command may be, by its timestamp, that is carried out.")
    inboxRetention = section.section("inbox").seconds(
      "retentionSeconds", default: inboxRetention, in: .seconds(60)...(.seconds(7 * 86_400)),
      "How long a command that comes again under its message_id is answered with the same reply.")
    section.check(
      "requesters", !requesters.contains(Topology.Users.service),
      "must not name 'service': any service could then sign anybody in")
  }

  var engine: EngineRules {
    EngineRules(
      commandQueue: Topology.Queues.accountsCommands, reportQueue: Topology.Queues.accountsReplies,
      inboxRetention: inboxRetention, maxCommandAge: maxCommandAge, operators: operators,
      requesters: requesters)
  }
}

extension SessionRules {
  init(_ section: ConfigurationSection) {
    self.init()
    unusedFor =
      .seconds(86_400)
      * section.integer("unusedDays", default: 180, in: 1...3650, "Days without a refresh after which a session ends.")
    perAccount = section.integer(
      "perAccount", default: Self.maxPerAccount, in: 1...Self.maxPerAccount,
      "Sessions of an account; one more ends the oldest.")
  }
}

extension SigningKeyRules {
  init(_ section: ConfigurationSection) {
    self.init()
    rotatedAfter =
      .seconds(86_400)
      * section.integer("rotationDays", default: 30, in: 1...365, "Days for which a key signs ID tokens.")
    maxAge = section.seconds(
      "maxAgeSeconds", default: maxAge, in: .seconds(300)...(.seconds(21_600)),
      "How long verifiers may cache the public keys; so long a new key is published before it signs.")
  }
}
