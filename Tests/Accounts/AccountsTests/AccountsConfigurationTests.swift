import CommandEngine
import CountersignCryptography
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import ServiceRuntime
import TestSupport
import Testing

@testable import Accounts

@Suite struct AccountsConfigurationTests {
  private func withFiles<Value>(_ body: (TemporaryDirectory) throws -> Value) throws -> Value {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    try directory.write("0123456789abcdef0123456789abcdef\n", to: "pepper")
    try directory.write("secret", to: "password")
    try directory.write(#"{"keys":[\#(try KeyRing.generate(kid: "k"))]}"#, to: "keys.json")
    try directory.write(#"{"keys":[\#(try KeyRing.generate(kid: "t"))]}"#, to: "tokens.json")
    try directory.write(try PrivateSealingKeys([PrivateSealingKey.generate(id: "s")]).jwkSet(), to: "sealing.json")
    try FileManager.default.createDirectory(atPath: directory.path + "/projects", withIntermediateDirectories: true)
    return try body(directory)
  }

  private func load(_ keys: String, replacing: [String: String] = [:]) throws -> AccountsConfiguration {
    try withFiles { directory in
      for (name, text) in replacing { try directory.write(text, to: name) }
      let text = """
        { broker: { url: 'amqp://localhost/' }, keysFile: 'keys.json', pepperFile: 'pepper',
          tokenKeysFile: 'tokens.json', sealingKeysFile: 'sealing.json', \(keys) }
        """
      return try AccountsConfiguration.load(file: directory.write(text, to: "accounts.json5"), environment: [:]).content
    }
  }

  private func problems(_ keys: String, replacing: [String: String] = [:]) throws -> [String] {
    do {
      _ = try load(keys, replacing: replacing)
      return []
    } catch let error as ConfigurationError {
      return error.problems.map(\.description)
    }
  }

  @Test func `The pepper before the last change may be named, and must be one`() throws {
    #expect(try load("").secrets?.hashes.former.isEmpty == true)
    let pepper = ["previous": "fedcba9876543210fedcba9876543210"]
    let hashes = try #require(try load("previousPepperFile: 'previous'", replacing: pepper).secrets?.hashes)
    #expect(hashes.former.count == 1 && hashes.checkValues.map(\.isUsed) == [true, false])
    let short = try problems("previousPepperFile: 'previous'", replacing: ["previous": "short"])
    #expect(short.contains { $0.contains("previousPepperFile") && $0.contains("less than 16 bytes") })
  }

  @Test func `The defaults are those of the rules`() throws {
    let loaded = try load("")
    #expect(loaded.rules.sessions == SessionRules() && loaded.rules.keys == SigningKeyRules())
    #expect(loaded.rules.requesters == ["gateway"] && !loaded.rules.isDevelopment)
    #expect(loaded.rules.limits == Limits())
    #expect(loaded.rules.engine.requesters == ["gateway"])
    #expect(loaded.rules.engine.commandQueue == "accounts.commands")
    #expect(loaded.rules.engine.reportQueue == "accounts.replies")
    #expect(loaded.secrets != nil && loaded.prefetch == 512)
  }

  @Test func `Values are taken, and have bounds`() throws {
    let loaded = try load(
      """
      development: true, requesters: ['edge'], sessions: { unusedDays: 30, perAccount: 5 },
      keys: { rotationDays: 7, maxAgeSeconds: 600 }, limits: { anonymousPerAddressPerHour: 3 }
      """)
    #expect(loaded.rules.isDevelopment && loaded.rules.requesters == ["edge"])
    #expect(loaded.rules.sessions.unusedFor == .seconds(30 * 86_400) && loaded.rules.sessions.perAccount == 5)
    #expect(loaded.rules.keys.rotatedAfter == .seconds(7 * 86_400) && loaded.rules.keys.maxAge == .seconds(600))
    #expect(loaded.rules.limits == .development)
    let limits = "limits: { anonymousPerAddressPerHour: 3, networkFactor: 4, anonymousPerDay: 5 }"
    var figures = Limits()
    (figures[.anonymousPerAddress], figures[.anonymousPerDay], figures.networkFactor) = (3, 5, 4)
    #expect(try load(limits).rules.limits == figures)
    for (keys, place) in [
      ("sessions: { perAccount: 101 }", "sessions.perAccount"), ("sessions: { unusedDays: 0 }", "sessions.unusedDays"),
      ("keys: { rotationDays: 0 }", "keys.rotationDays"), ("keys: { maxAgeSeconds: 10 }", "keys.maxAgeSeconds"),
      ("requesters: ['gateway', 'service']", "requesters"), ("prefetch: 0", "prefetch"),
    ] {
      #expect(try problems(keys).first?.contains(place) == true, "\(keys)")
    }
  }

  @Test func `Secrets that are missing or no keys are named, and not shown`() throws {
    for (file, key) in [
      ("pepper", "pepperFile"), ("tokens.json", "tokenKeysFile"), ("sealing.json", "sealingKeysFile"),
      ("keys.json", "keysFile"), ("projects/example.json5", "projectsDirectory"),
    ] {
      let found = try problems("", replacing: [file: "nonsense"])
      #expect(found.contains { $0.contains(key) }, "\(key): \(found)")
      #expect(!found.contains { $0.contains("nonsense") && key != "projectsDirectory" })
    }
  }

  @Test func `Other providers, secrets or authorities are told from the same ones, whatever their files are called`()
    throws
  {
    func digest(_ keys: String, _ files: [String: String] = [:]) throws -> String {
      MemberFacts.digest(try load(keys, replacing: files).providers.comparable)
    }
    let addresses = "allowedAddresses: ['https://id.lan']"
    let usual = "providerSecretsFile: 'secrets', providers: { \(addresses), caFile: 'ca.pem' }"
    let files = ["secrets": #"{"example": {"facebook.com": "f"}}"#, "ca.pem": "one"]
    let first = try digest(usual, files)
    #expect(try digest(usual, files) == first)
    let renamed = usual.replacing("ca.pem", with: "authority.pem")
    #expect(try digest(renamed, ["secrets": files["secrets"] ?? "", "authority.pem": "one"]) == first)
    for (keys, other) in [
      (usual, ["secrets": #"{"example": {"facebook.com": "g"}}"#]), (usual, ["ca.pem": "two"]),
      (usual.replacing("id.lan", with: "id.example.lan"), [:]),
      (usual.replacing("caFile", with: "apple: { keysURL: 'https://keys.lan/' }, caFile"), [:]),
      (usual.replacing("caFile", with: "allowedNetworks: ['10.0.0.7'], caFile"), [:]),
    ] {
      #expect(try digest(keys, files.merging(other) { $1 }) != first, "\(keys)")
    }
    let values = try load(usual, replacing: files).providers.checkValues
    #expect(values.map(\.file) == ["providerSecretsFile", "providers.caFile"] && values.allSatisfy(\.isUsed))
    #expect(try load("").providers.checkValues.isEmpty)
  }

  @Test func `Addresses of providers are https, or those of this machine; inner ones are those that are named`() throws
  {
    let http = "providers: { apple: { keysURL: 'http://127.0.0.1:8090/auth/keys' } }"
    let allowed = try load(http).providers.allowed
    #expect(allowed.authorities == ["127.0.0.1:8090"])
    #expect(allowed.allows("127.0.0.1:8090", [127, 0, 0, 1]) && !allowed.allows("appleid.apple.com", [127, 0, 0, 1]))
    #expect(allowed.allows("appleid.apple.com", [17, 1, 2, 3]) && !allowed.allows("appleid.apple.com", []))
    let networks = try load("providers: { allowedNetworks: ['10.1.0.0/16'] }").providers.allowed
    #expect(networks.allows("x", [10, 1, 0, 1]) && !networks.allows("x", [10, 2, 0, 1]))
    let own = try load(
      "providers: { allowedAddresses: ['https://id.lan'], caFile: 'ca.pem', apple: { keysURL: 'https://keys.lan/' } }")
    let trust = try #require(own.providers.allowed.ownTrust)
    #expect(trust.authorities == ["id.lan"] && trust.caFile.hasSuffix("/ca.pem"), "the authority counts there alone")
    for (keys, place) in [
      ("providers: { apple: { keysURL: 'http://10.0.0.1/' } }", "providers.apple.keysURL"),
      ("providers: { google: { tokeninfoURL: 'https://x/?a=b' } }", "providers.google.tokeninfoURL"),
      ("providers: { apple: { issuers: [] } }", "providers.apple.issuers"),
      ("providers: { facebook: { graphVersion: '23' } }", "providers.facebook.graphVersion"),
      ("providers: { allowedNetworks: ['10'] }", "providers.allowedNetworks.0"),
      ("providers: { caFile: 'pepper' }", "providers.caFile: has no effect without 'allowedAddresses'"),
      ("providerSecretsFile: 'secrets'", "providerSecretsFile"),
    ] {
      let found = try problems(keys, replacing: ["secrets": "hidden"])
      #expect(found.contains { $0.contains(place) } && !found.contains { $0.contains("hidden") }, "\(keys): \(found)")
    }
    let text = #"{"example": {"facebook.com": "f", "oidc.example": {"a": "s", "b": ""}}}"#
    let secrets = try load("providerSecretsFile: 'secrets'", replacing: ["secrets": text]).providers.secrets
    #expect(secrets["example", "facebook.com"]?.reveal() == "f" && secrets["example", "oidc.example"] == nil)
    #expect(secrets["example", "facebook.com", "any"]?.reveal() == "f")
    #expect(secrets["example", "oidc.example", "a"]?.reveal() == "s")
    #expect(secrets["example", "oidc.example", "b"] == nil && secrets["example", "oidc.example", "c"] == nil)
    let project = "{ number: 1, apiKeys: ['fake-api-key'], emulatorTokens: true, apps: {} }"
    #expect(try problems("", replacing: ["projects/example.json5": project]).contains { $0.contains("emulatorTokens") })
    #expect(try problems("development: true", replacing: ["projects/example.json5": project]).isEmpty)
  }

  @Test func `The annotated file explains every key`() throws {
    let text = try String(contentsOf: URL(filePath: Repository.config + "/accounts.json5"), encoding: .utf8)
    let keys = try withFiles { directory in
      try AccountsConfiguration.keys(file: directory.write("{}", to: "accounts.json5")).map(\.path)
    }
    #expect(keys.contains("keys.rotationDays") && keys.contains("sealingKeysFile"))
    let unexplained = keys.filter { key in !text.contains("\(key.split(separator: ".").last ?? ""):") }
    #expect(unexplained.isEmpty)
  }

  @Test func `Every key of the annotated file is known, and shows the default`() throws {
    let loaded = try withFiles { directory in
      let path = { (name: String) in "\(directory.path)/\(name)" }
      return try AccountsConfiguration.load(
        file: Repository.config + "/accounts.json5",
        environment: [
          "COUNTERSIGN_BROKER_PASSWORD_FILE": path("password"), "COUNTERSIGN_PEPPER_FILE": path("pepper"),
          "COUNTERSIGN_KEYS_FILE": path("keys.json"), "COUNTERSIGN_TOKEN_KEYS_FILE": path("tokens.json"),
          "COUNTERSIGN_SEALING_KEYS_FILE": path("sealing.json"), "COUNTERSIGN_PROJECTS_DIRECTORY": path("projects"),
        ])
    }.content
    #expect(loaded.rules.sessions == SessionRules() && loaded.rules.keys == SigningKeyRules())
    #expect(loaded.rules.requesters == AccountRules.defaultRequesters && !loaded.rules.isDevelopment)
    #expect(loaded.rules.limits == Limits())
    #expect(loaded.rules.maxCommandAge == .seconds(30) && loaded.rules.inboxRetention == .seconds(3600))
    #expect(loaded.prefetch == 512 && loaded.maintenanceInterval == .seconds(1))
    #expect(loaded.common.http.port == 8085)
  }
}
