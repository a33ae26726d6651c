import CountersignConcurrency
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import JobEngine
import ServiceRuntime
import TestSupport
import Testing

@testable import Push

@Suite struct PushWorkerConfigurationTests {
  private func directory(lanes: String, apps: String, _ rest: String = "") throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    try directory.link("providers", to: Sample.config + "/providers")
    for (name, text) in [
      "key.p8": Sample.keyFile + "\n", "copy.p8": Sample.keyFile + "\n\n", "bad.p8": "no key", "secret": "sesame\n",
      "account.json": Sample.accountFile(),
      "unprotected.json": Sample.accountFile(["token_uri": "http://tokens.example/token"]),
      "worker.json5":
        #"{allowNoKeys: true, broker: {url: "amqp://u:p@127.0.0.1/"}, lanes: \#(lanes), apps: \#(apps), \#(rest)}"#,
    ] { try directory.write(text, to: name) }
    return directory
  }

  private static let apns = #"{name: "p", type: "apns"}, {name: "s", type: "apns", environment: "sandbox"}"#
  private static let enterprise =
    #"{name: "r", type: "recaptcha-enterprise", project: "my-project", apiKeyFile: "secret"}"#
  private static let account =
    #"{name: "r", type: "recaptcha-enterprise", project: "my-project", serviceAccountFile: "account.json""#
  private static let classic = #"{name: "c", type: "recaptcha-v2", secretFile: "secret"}"#
  private static let push = #"push: {teamID: "TEAM123456", keyID: "KEY1234567", keyFile: "key.p8"}"#

  private func load(
    lanes: String = "[\(apns)]", apps: String = "{a: {\(push)}}", _ rest: String = ""
  ) throws -> (PushWorkerConfiguration, TemporaryDirectory) {
    let directory = try self.directory(lanes: lanes, apps: apps, rest)
    return (
      try PushWorkerConfiguration.load(file: directory.path + "/worker.json5", environment: [:]).content, directory
    )
  }

  private func problems(lanes: String = "[\(apns)]", apps: String = "{a: {\(push)}}", _ rest: String = "") throws
    -> String
  {
    problem { try load(lanes: lanes, apps: apps, rest) }
  }

  @Test func `Values that are absent have defaults`() throws {
    let (configuration, _) = try load(
      lanes: "[\(Self.apns), \(Self.enterprise)]",
      apps: #"{"com.example.app": {\#(Self.push), recaptcha: {siteKey: "k"}}}"#)
    #expect(configuration.common.http.port == 8082)
    #expect(configuration.worker.prefetch == nil)
    #expect(configuration.tokenLife == .seconds(3000))
    #expect(configuration.memory.environmentLife == .seconds(180 * 24 * 3600))
    #expect(configuration.lanes.map(\.lane) == ["p", "s", "r"].map { LaneConfiguration(name: $0) })
    let settings = configuration.lanes.compactMap { $0.provider as? APNsProvider }
    #expect(settings.map(\.baseURL) == ["https://api.push.apple.com", "https://api.sandbox.push.apple.com"])
    #expect(settings.map(\.connections) == [4, 4])
    #expect(settings.map(\.answerTimeout) == [.seconds(3), .seconds(3)])
    let app = try #require(configuration.apps.first)
    #expect(app.bundleID == "com.example.app")
    #expect(app.push?.topic == "com.example.app")
    #expect(app.push?.payload == PushPayload(key: "com.google.firebase.auth", form: .object))
    #expect(app.recaptcha?.lane == "r")
    #expect(app.recaptcha?.rules == AssessmentRules(bundleID: "com.example.app"))
  }

  @Test func `All other values are read`() throws {
    let (configuration, _) = try load(
      lanes: "[\(Self.apns), \(Self.enterprise), \(Self.classic)]",
      apps: """
        {a: {push: {certificateFile: "c.pem", certificateKeyFile: "c.key", topic: "t", payloadKey: "k", payloadForm: "string"},
             recaptcha: {lane: "c", minimumScore: 0.3, maximumTollFraudRisk: 0.9, hosts: ["h"], androidPackages: ["p"]}}}
        """)
    let app = try #require(configuration.apps.first)
    #expect(app.push?.topic == "t")
    #expect(app.push?.payload == PushPayload(key: "k", form: .string))
    #expect(
      app.recaptcha?.rules
        == AssessmentRules(
          bundleID: "a", androidPackages: ["p"], hosts: ["h"], hasScores: false, minScore: 0.3,
          maxTollFraudRisk: 0.9))
    #expect(app.recaptcha?.siteKey == "")
  }

  @Test(
    arguments: [
      ("[]", "{a: {push}}", "lanes: is empty"), ("[apns]", "{}", "apps: is empty"),
      (#"[{name: "x", type: "y"}]"#, "{a: {push}}", "lanes.0.type: must be one of"),
      (
        #"[{name: "p", type: "apns"}, {name: "p", type: "apns"}]"#, "{a: {push}}",
        "lanes.1.name: is the name of lanes.0 too"
      ),
      (
        #"[{name: "p", type: "apns"}, {name: "q", type: "apns"}]"#, "{a: {push}}",
        "lanes.1.environment: is the environment of lanes.0 too"
      ),
      (#"[{name: "p", type: "apns", baseURL: "ftp://x"}]"#, "{a: {push}}", "lanes.0.baseURL"),
      (#"[{name: "r", type: "recaptcha-enterprise"}]"#, "{a: {push}}", "lanes.0.project: is required"),
      (
        #"[{name: "r", type: "recaptcha-enterprise", project: "p"}]"#, "{a: {push}}",
        "lanes.0.apiKeyFile: is missing, and so is serviceAccountFile"
      ),
      (
        "[\(account), apiKeyFile: \"secret\"}]", "{a: {push}}",
        "lanes.0.serviceAccountFile: is given with apiKeyFile: give one of them"
      ),
      ("[\(account), tokenURL: \"tokens\"}]", "{a: {push}}", "lanes.0.tokenURL: must be an http:// or https:// URL"),
      (
        #"[{name: "r", type: "recaptcha-enterprise", project: "p", serviceAccountFile: "secret"}]"#, "{a: {push}}",
        "lanes.0.serviceAccountFile: is not the JSON of a service account's key; make a key of the account"
      ),
      (
        #"[{name: "r", type: "recaptcha-enterprise", project: "p", serviceAccountFile: "none"}]"#, "{a: {push}}",
        "none does not exist"
      ),
      (
        #"[{name: "r", type: "recaptcha-enterprise", project: "p", apiKeyFile: "secret", tokenURL: "https://x/token"}]"#,
        "{a: {push}}", "lanes.0.tokenURL: has no effect with an API key"
      ),
      ("[classic]", "{a: {push}}", "apps.a.push: has no effect"),
      ("[apns]", "{a: {}}", "apps.a.push: is missing, and so is recaptcha"),
      ("[apns]", "{a: {recaptcha: {}}}", "apps.a.recaptcha.lane"),
      ("[enterprise]", "{a: {recaptcha: {}}}", "apps.a.recaptcha.siteKey: is required"),
      (
        "[enterprise]", #"{a: {recaptcha: {siteKey: "k", lane: "x"}}}"#,
        "apps.a.recaptcha.lane: is not the name of a lane"
      ),
      ("[apns]", "{a: {push: {}}}", "apps.a.push.keyFile: is required"),
      (
        "[apns]", #"{a: {push: {teamID: "T", keyID: "K", keyFile: "bad.p8"}}}"#,
        "apps.a.push.keyFile: holds no usable key: the key \"K\" is not a private key"
      ),
      ("[apns]", #"{a: {push: {teamID: "T\"", keyID: "K", keyFile: "key.p8"}}}"#, "apps.a.push.teamID"),
      ("[apns]", #"{a: {push: {certificateFile: "c"}}}"#, "apps.a.push.certificateKeyFile: is required"),
      ("[apns]", #"{a: {push: {teamID: "T", keyID: "K", keyFile: "key.p8", payloadKey: "aps"}}}"#, "payloadKey"),
    ])
  func `Mistakes are told`(lanes: String, apps: String, text: String) throws {
    let names = ["apns": Self.apns, "enterprise": Self.enterprise, "classic": Self.classic]
    let lanes = names.reduce(lanes) { $0 == "[\($1.key)]" ? "[\($1.value)]" : $0 }
    let found = try problems(lanes: lanes, apps: apps.replacing("{push}", with: "{\(Self.push)}"))
    #expect(found.contains(text), "\(found)")
    #expect(!found.contains("BEGIN") && !found.contains("sesame"))
  }

  @Test func `A service account takes the place of an API key`() throws {
    let app = #"{a: {recaptcha: {siteKey: "k"}}}"#
    for (more, expected) in [("", Sample.tokenURI), (#", tokenURL: "https://tokens.test/t""#, "https://tokens.test/t")]
    {
      let (configuration, _) = try load(lanes: "[\(Self.account)\(more)}]", apps: app)
      guard let provider = configuration.lanes.first?.provider as? EnterpriseProvider,
        case .serviceAccount(let account, let tokenURL) = provider.credential
      else {
        Issue.record("is not a service account")
        return
      }
      #expect(account.email == Sample.accountEmail)
      #expect(tokenURL == expected)
    }
  }

  @Test func `Tokens that cross the network readable are refused unless that is allowed`() throws {
    let lane = Self.account.replacing("account.json", with: "unprotected.json")
    let refused = try problems(lanes: "[\(lane)}]", apps: #"{a: {recaptcha: {siteKey: "k"}}}"#)
    #expect(refused.contains("lanes.0.serviceAccountFile: has a token_uri that is http:// to another machine"))
    #expect(refused.contains("set lanes.0.allowPlaintext to true"))
    let directory = try self.directory(
      lanes: "[\(lane), allowPlaintext: true}]", apps: #"{a: {recaptcha: {siteKey: "k"}}}"#)
    let loaded = try PushWorkerConfiguration.load(file: directory.path + "/worker.json5", environment: [:])
    #expect(loaded.warnings.contains { $0.description.contains("lanes.0.serviceAccountFile") }, "\(loaded.warnings)")
  }

  @Test func `One key ID has one key file`() throws {
    let same = #"{a: {\#(Self.push)}, b: {push: {teamID: "TEAM123456", keyID: "KEY1234567", keyFile: "copy.p8"}}}"#
    #expect(try problems(apps: same) == "")
    let other = #"{a: {\#(Self.push)}, b: {push: {teamID: "TEAM123456", keyID: "KEY1234567", keyFile: "other.p8"}}}"#
    let directory = try self.directory(lanes: "[\(Self.apns)]", apps: other)
    try directory.write("# another file\n" + Sample.keyFile, to: "other.p8")
    let error = #expect(throws: ConfigurationError.self) {
      try PushWorkerConfiguration.load(file: directory.path + "/worker.json5", environment: [:])
    }
    #expect(error?.description.contains("apps.b.push: names a key that another app reads") == true)
  }

  private func lanes(_ configuration: PushWorkerConfiguration) throws(WorkerError) -> PushLanes {
    try PushLanes(configuration, clocks: .system, logger: Logger(label: "test", sink: MemorySink()))
  }

  @Test func `A push service that is only in the registry gets pushes and probes, and closes with the worker`()
    async throws
  {
    let directory = try self.directory(lanes: #"[{name: "e", type: "example"}]"#, apps: "{a: {\(Self.push)}}")
    let providers = PushProviders.all + [ExamplePushProvider.self]
    let loaded = try PushWorkerConfiguration.load(file: directory.path + "/worker.json5", environment: [:]) {
      PushWorkerConfiguration($0, providers: providers)
    }
    let context = ServiceContext(
      name: "push-worker", instance: "test", logger: Logger(label: "test", sink: MemorySink()))
    let verifier = try await PushVerifier(loaded.content, context)
    let job = PushVerifyJob(
      app: "a", deviceToken: Sample.deviceToken, environment: .unknown, receipt: "r", secret: SecretField(Secret("s")),
      deadline: Sample.deadline)
    let message = JobMessage(messageID: "v1.push", messageType: PushVerifyJob.type, receivedAt: Sample.now)
    guard case .ready(let prepared, let facts) = verifier.push.handler.prepare(job, of: message) else {
      return #expect(Bool(false), "the job was refused")
    }
    #expect(facts.lanes == ["e"])
    let outcome = await verifier.push.handler.perform(prepared, on: "e", Sample.attempt())
    #expect(outcome == .accepted(reference: Sample.deviceToken))
    #expect(await verifier.push.handler.probe(lane: "e") == .up)
    await verifier.shutdown()
    #expect(context.metrics.render().contains("example_closed 1\n"))
  }

  @Test func `Apps of one key share its lanes and its token`() throws {
    let (configuration, _) = try load(apps: "{a: {\(Self.push)}, b: {\(Self.push)}}")
    let routes = try lanes(configuration).pushing
    #expect(routes.lanes.map(\.name) == ["p", "s"])
    #expect(routes.configurations.map(\.name) == ["p", "s"])
    #expect(routes.tokens.count == 1)
    #expect(routes.apps["b"]?.lanes == [.production: "p", .sandbox: "s"])
  }

  @Test func `Each key has lanes of its own`() throws {
    let other = #"push: {teamID: "TEAM123456", keyID: "KEY7654321", keyFile: "key.p8"}"#
    let (configuration, _) = try load(apps: "{a: {\(Self.push)}, b: {\(other)}}")
    let routes = try lanes(configuration).pushing
    #expect(routes.lanes.map(\.name) == ["p-KEY1234567", "p-KEY7654321", "s-KEY1234567", "s-KEY7654321"])
    #expect(routes.tokens.count == 2)
    #expect(routes.apps["b"]?.lanes == [.production: "p-KEY7654321", .sandbox: "s-KEY7654321"])
  }

  @Test func `Lanes of one service account share its token`() async throws {
    let other = Self.account.replacing(#""r""#, with: #""s""#)
    let (configuration, _) = try load(
      lanes: "[\(Self.account)}, \(other)}, \(Self.enterprise.replacing(#""r""#, with: #""k""#))]",
      apps: #"{a: {recaptcha: {siteKey: "k"}}}"#)
    let accounts = try lanes(configuration).recaptcha
    #expect(accounts.lanes.map(\.name) == ["r", "s", "k"])
    #expect(accounts.tokens.count == 1)
    await accounts.shutdown()
  }

  @Test func `A certificate that is missing shows at the start`() throws {
    let (configuration, _) = try load(
      apps: #"{a: {push: {certificateFile: "none.pem", certificateKeyFile: "none.key"}}}"#)
    let error = #expect(throws: WorkerError.self) { try lanes(configuration) }
    #expect(error?.message.contains("none.pem") == true)
  }

  @Test func `The workers are those that have something to do`() async throws {
    for (lanes, apps, expected) in [
      ("[\(Self.apns)]", "{a: {\(Self.push)}}", ["push.verify"]),
      ("[\(Self.enterprise)]", #"{a: {recaptcha: {siteKey: "k"}}}"#, ["recaptcha.assess"]),
      (
        "[\(Self.apns), \(Self.enterprise)]", #"{a: {\#(Self.push), recaptcha: {siteKey: "k"}}}"#,
        ["push.verify", "recaptcha.assess"]
      ),
    ] {
      let (configuration, directory) = try load(lanes: lanes, apps: apps)
      let context = ServiceContext(
        name: "push-worker", instance: "test", logger: Logger(label: "test", sink: MemorySink()))
      let verifier = try await PushVerifier(configuration, context)
      let services = try await verifier.services(configuration, context)
      #expect(services.map(\.name) == expected)
      await verifier.shutdown()
      withExtendedLifetime(directory) {}
    }
  }

  @Test func `The shipped file explains every key`() throws {
    let text = try String(contentsOf: URL(filePath: Sample.config + "/push-worker.json5"), encoding: .utf8)
    let lanes = PushProviders.all.map { #"{type: "\#($0.typeName)"}"# }.joined(separator: ", ")
    let directory = try self.directory(lanes: "[\(lanes)]", apps: "{a: {push: {}, recaptcha: {}}}")
    let keys = try PushWorkerConfiguration.keys(file: directory.path + "/worker.json5").map(\.path)
    #expect(keys.contains("apps.a.push.teamID") && keys.contains { $0.hasSuffix(".serviceAccountFile") })
    let unexplained = keys.filter { key in !text.contains("\(key.split(separator: ".").last ?? ""):") }
    #expect(unexplained.isEmpty)
  }

  @Test func `The shipped file is valid`() throws {
    let text = try String(contentsOf: URL(filePath: Sample.config + "/push-worker.json5"), encoding: .utf8)
    let directory = try self.directory(lanes: "[]", apps: "{}")
    try directory.write(text.replacing("secrets/AuthKey_ABC1234567.p8", with: "key.p8"), to: "worker.json5")
    let loaded = try PushWorkerConfiguration.load(
      file: directory.path + "/worker.json5",
      environment: [
        "COUNTERSIGN_BROKER_PASSWORD_FILE": directory.path + "/secret", "COUNTERSIGN_ALLOW_NO_KEYS": "true",
      ])
    #expect(loaded.warnings.isEmpty, "\(loaded.warnings)")
    #expect(loaded.content.apps.map(\.bundleID) == ["com.example.app"])
  }
}

private struct ExamplePushProvider: PushProvider {
  static let typeName = "example"
  static let tables: [ProviderTables.Source] = []
  static let pushes = true

  init(_ section: ConfigurationSection) {}

  func makeLanes(_ entry: PushLaneSettings, _ context: PushLaneContext, in lanes: inout PushLanes) {
    lanes.pushing.add(
      PushRoute(lane: ExamplePushLane(name: entry.lane.name), environment: .production), entry.lane,
      apps: context.apps.map(\.bundleID))
  }

  static func register(_ lanes: PushLanes, in metrics: MetricsRegistry) {
    let lanes = lanes.pushing.lanes.compactMap { $0 as? ExamplePushLane }
    metrics.gauge("example_closed", "Lanes that were closed.") { Double(lanes.count { $0.isClosed.isOpen }) }
  }
}

private struct ExamplePushLane: ProviderLane {
  let name: String
  let isClosed = Latch()

  func send(_ push: SilentPush, _ attempt: JobAttempt) async -> Classification {
    .accepted(reference: push.deviceToken)
  }

  func probe() async -> ProbeResult { .up }

  func shutdown() async { isClosed.open() }
}
