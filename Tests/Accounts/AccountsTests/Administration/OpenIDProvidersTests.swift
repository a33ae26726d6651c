import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite struct OpenIDProvidersTests {
  private static let id = "oidc.example"
  private static let issuer = "https://id.example.com"

  private func fields(_ fields: inout OpenIDFields) {
    var client = OpenIDClient(clientID: "client-a")
    client.secret = "secret-a"
    (fields.issuer, fields.clients, fields.enabled) = (Self.issuer, [client], true)
  }

  private func view(_ reply: Message) throws -> ProviderView? { try ProvidersFound(json: reply.body).providers.first }

  private func configuration(_ bench: AccountsBench, _ id: String = id) async throws -> OpenIDConfiguration? {
    let project = try #require(bench.parts.rules.projects.current[AccountsBench.project])
    return try await bench.look { [openID = bench.parts.openID] set throws(StoreError) in
      try openID.find(id, of: project, in: set)
    }
  }

  /// Puts a provider into the project's file.
  private func file(_ bench: AccountsBench, issuer: String = issuer) {
    var project = Project(id: AccountsBench.project, number: 100_000_000_001)
    var facts = Project.ProviderFacts(clientIDs: ["filed"])
    facts.openID = Project.OpenID(issuer: issuer)
    facts.openID?.trustsEmail = true
    project.providers[Self.id] = facts
    project.methods = [.provider(Self.id)]
    bench.parts.rules.projects.take(Projects([project]))
  }

  @Test func `A provider is made, changed and removed, and its secret is never told`() async throws {
    let bench = try await AccountsBench()
    let made = try await bench.setProvider(.create, Self.id, fields)
    let first = try #require(try view(made))
    #expect(first.providerID == Self.id && first.issuer == Self.issuer && first.enabled && first.usesCodeFlow)
    #expect(first.clients == [ProviderView.Client(clientID: "client-a", hasSecret: true)] && !first.isFromFile)
    #expect(!String(decoding: made.body, as: UTF8.self).contains("secret-a"))
    #expect(try await configuration(bench)?.clients.first?.secret?.reveal() == "secret-a")
    bench.clock.advance(by: .seconds(1))
    let changed = try await bench.setProvider(.change, Self.id) { fields in
      (fields.displayName, fields.enabled, fields.usesCodeFlow) = ("Example", false, false)
      (fields.scopes, fields.parameters) = (["email"], ["prompt": "login"])
    }
    let second = try #require(try view(changed))
    #expect(second.displayName == "Example" && !second.enabled && !second.usesCodeFlow)
    #expect(second.scopes == ["email"] && second.parameters == ["prompt": "login"] && second.clients == first.clients)
    #expect(try view(await bench.findProviders { $0.providerID = Self.id }) == second)
    bench.clock.advance(by: .seconds(1))
    #expect(try view(await bench.setProvider(.remove, Self.id)) == nil)
    #expect(try code(await bench.findProviders { $0.providerID = Self.id }) == .configurationNotFound)
    let acts = try ActsListed(
      json: try await bench.ask(ListActs(project: AccountsBench.project, limit: 9), user: "operator").body
    ).acts
    #expect(acts.map(\.act) == ["setProvider.remove", "setProvider.change", "setProvider.create"])
    #expect(acts.map(\.subject) == [Self.id, "\(Self.id) \(Self.issuer)", "\(Self.id) \(Self.issuer)"])
  }

  @Test func `What there is not is not changed, and what there is not made again`() async throws {
    let bench = try await AccountsBench()
    for act in [SetProvider.Act.change, .remove] {
      #expect(try code(await bench.setProvider(act, Self.id)) == .configurationNotFound)
    }
    _ = try await bench.setProvider(.create, Self.id, id: "made", fields)
    #expect(try code(await bench.setProvider(.create, Self.id, fields)) == .configurationExists)
    for issue in ["client", "issuer"] {
      let reply = try await bench.setProvider(.create, "oidc.other") { fields in
        self.fields(&fields)
        if issue == "client" { fields.clients = nil } else { fields.issuer = nil }
      }
      #expect(try code(reply) == .invalidArgument)
    }
  }

  @Test func `A secret stays with its client and its issuer`() async throws {
    let bench = try await AccountsBench()
    _ = try await bench.setProvider(.create, Self.id, fields)
    let both = [OpenIDClient(clientID: "client-b"), OpenIDClient(clientID: "client-a")]
    _ = try await bench.setProvider(.change, Self.id) { $0.clients = both }
    #expect(try await configuration(bench)?.clients.map { $0.secret?.reveal() } == [nil, "secret-a"])
    let moved = try await bench.setProvider(.change, Self.id) { $0.issuer = "https://elsewhere.example.com" }
    #expect(try view(moved)?.clients.map(\.hasSecret) == [false, false])
  }

  @Test(arguments: OpenIDForms.reservedParameters.sorted()) func `A reserved parameter is refused by its name`(
    name: String
  ) async throws {
    let bench = try await AccountsBench()
    let reply = try await bench.setProvider(.create, Self.id) { fields in
      self.fields(&fields)
      fields.parameters = [name: "x"]
    }
    let error = try ErrorReply(json: reply.body).error
    #expect(error.code == .invalidArgument && error.field == "parameters" && error.message.contains(" \(name) "))
  }

  @Test func `Each wrong field is named`() async throws {
    let bench = try await AccountsBench()
    func client(_ change: (inout OpenIDClient) -> Void) -> [OpenIDClient] {
      var client = OpenIDClient(clientID: "c")
      change(&client)
      return [client]
    }
    let wrong: [(String, (inout OpenIDFields) -> Void)] = [
      ("issuer", { $0.issuer = "http://id.example.com" }), ("issuer", { $0.issuer = "https://id.example.com/?a" }),
      ("displayName", { $0.displayName = String(repeating: "a", count: 65) }), ("clients", { $0.clients = [] }),
      ("clients", { $0.clients = (0...10).map { OpenIDClient(clientID: "\($0)") } }),
      ("clients", { $0.clients = [OpenIDClient(clientID: "c"), OpenIDClient(clientID: "c")] }),
      ("clients", { $0.clients = client { $0.platform = "tv" } }),
      ("clients", { $0.clients = client { $0.secret = "" } }),
      ("clients", { $0.clients = [OpenIDClient(clientID: "a b")] }), ("scopes", { $0.scopes = ["a b"] }),
      ("scopes", { $0.scopes = (0...20).map { "s\($0)" } }),
      ("parameters", { $0.parameters = ["a b": "x"] }),
      (
        "parameters",
        { $0.parameters = Dictionary(uniqueKeysWithValues: (0...20).map { ("p\($0)", "x") }) }
      ),
    ]
    for (field, change) in wrong {
      let reply = try await bench.setProvider(.create, Self.id) { fields in
        self.fields(&fields)
        change(&fields)
      }
      let error = try ErrorReply(json: reply.body).error
      #expect(error.code == .invalidArgument && error.field == field)
    }
    for id in ["oidc.", "google.com", "oidc.A", "oidc.\(String(repeating: "a", count: 33))"] {
      #expect(try code(await bench.setProvider(.create, id, fields)) == .invalidArgument, "\(id)")
    }
  }

  @Test func `What administrators set goes before the file, and comes off again`() async throws {
    let bench = try await AccountsBench()
    file(bench)
    let filed = try #require(try view(await bench.findProviders()))
    #expect(filed.isFromFile && filed.enabled && filed.clients.map(\.clientID) == ["filed"])
    #expect(try code(await bench.setProvider(.create, Self.id, fields)) == .configurationExists)
    #expect(
      try ErrorReply(json: await bench.setProvider(.remove, Self.id).body).error.reason == "PROVIDER_IN_FILE")
    let changed = try #require(try view(await bench.setProvider(.change, Self.id) { $0.enabled = false }))
    #expect(!changed.isFromFile && !changed.enabled && changed.clients.map(\.clientID) == ["filed"])
    #expect(try await configuration(bench)?.isEnabled == false)
    #expect(try code(await bench.setProvider(.remove, Self.id)) == nil)
    #expect(try await configuration(bench)?.isEnabled == true)
  }

  @Test func `What administrators set is not trusted with addresses, whatever the file says`() async throws {
    let bench = try await AccountsBench()
    file(bench)
    #expect(try await configuration(bench)?.trustsEmail == true)
    _ = try await bench.setProvider(.change, Self.id) { $0.displayName = "Example" }
    #expect(try await configuration(bench)?.trustsEmail == false)
    _ = try await bench.setProvider(.remove, Self.id)
    #expect(try await configuration(bench)?.trustsEmail == true)
  }

  @Test func `A client's secret of the file of secrets goes to the issuer of the project's file alone`() throws {
    var project = Project(id: AccountsBench.project, number: 1)
    var facts = Project.ProviderFacts(clientIDs: ["a"])
    facts.openID = Project.OpenID(issuer: Self.issuer)
    project.providers[Self.id] = facts
    let secrets = ProviderSecrets([project.id: [Self.id: .byClient(["a": Secret("s")])]])
    let ring = try KeyRing(jwkSet: Array(#"{"keys":[\#(try KeyRing.generate(kid: "t"))]}"#.utf8))
    let openID = OpenIDConfigurations(
      ring: ring, secrets: secrets, logger: Logger(label: "test", sink: MemorySink()))
    var configuration = try #require(openID.inFile(Self.id, of: project))
    #expect(!configuration.isEnabled && configuration.clients.first?.secret == nil)
    #expect(openID.withSecrets(configuration, of: project).clients.first?.secret?.reveal() == "s")
    configuration.issuer = "https://elsewhere.example.com"
    #expect(openID.withSecrets(configuration, of: project).clients.first?.secret == nil)
    configuration.issuer = Self.issuer
    project.providers = [:]
    #expect(openID.withSecrets(configuration, of: project).clients.first?.secret == nil)
  }

  @Test func `A list goes page by page, and has an end`() async throws {
    let bench = try await AccountsBench()
    for name in ["c", "a", "b"] { _ = try await bench.setProvider(.create, "oidc.\(name)", fields) }
    let first = try ProvidersFound(json: await bench.findProviders { $0.limit = 2 }.body)
    #expect(first.providers.map(\.providerID) == ["oidc.a", "oidc.b"] && first.hasMore == true)
    let second = try ProvidersFound(
      json: await bench.findProviders {
        $0.limit = 2
        $0.behind = "oidc.b"
      }.body)
    #expect(second.providers.map(\.providerID) == ["oidc.c"] && second.hasMore == nil)
    #expect(try code(await bench.findProviders { $0.limit = 0 }) == .invalidArgument)
    #expect(try code(await bench.findProviders { $0.behind = "x" }) == .invalidArgument)
  }

  @Test func `There are fifty at most`() async throws {
    let bench = try await AccountsBench()
    for index in 0..<OpenIDForms.maxProviders {
      #expect(try code(await bench.setProvider(.create, "oidc.p\(index)", fields)) == nil)
    }
    let reply = try await bench.setProvider(.create, Self.id, fields)
    #expect(try ErrorReply(json: reply.body).error.reason == "TOO_MANY_PROVIDERS")
  }

  @Test func `The same command twice is one act`() async throws {
    let bench = try await AccountsBench()
    let id = bench.nextID()
    var (command, fields) = (
      SetProvider(project: AccountsBench.project, providerID: Self.id, act: .create), OpenIDFields()
    )
    self.fields(&fields)
    command.fields = try bench.sealed(fields.text(), for: SetProvider.self, id)
    let first = try await bench.ask(command, id: id, user: AccountsBench.administrator)
    #expect(try view(first) == view(await bench.ask(command, id: id, user: AccountsBench.administrator)))
  }

  @Test func `A record follows the token keys, and one of another key is off`() async throws {
    try await AccountsBench.several { setting, start in
      let (old, new) = (try KeyRing.generate(kid: "old"), try KeyRing.generate(kid: "new"))
      func ring(_ keys: String...) throws -> KeyRing {
        try KeyRing(jwkSet: Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8))
      }
      setting.secrets.use(try ring(old))
      _ = try await start(setting).setProvider(.create, Self.id, fields)
      setting.secrets.use(try ring(new, old))
      setting.clock.advance(by: .seconds(86_401))
      await (try await start(setting)).maintenance.tidy()
      setting.secrets.use(try ring(new))
      let bench = try await start(setting)
      #expect(try await configuration(bench)?.clients.first?.secret?.reveal() == "secret-a")
      setting.secrets.use(try ring(try KeyRing.generate(kid: "other")))
      let other = try await start(setting)
      file(other)
      #expect(try await configuration(other) == nil)
      #expect(try ProvidersFound(json: await other.findProviders().body).providers.isEmpty)
      #expect(try code(await other.setProvider(.remove, Self.id)) == nil)
      #expect(try await configuration(other)?.clients.map(\.id) == ["filed"])
    }
  }
}
