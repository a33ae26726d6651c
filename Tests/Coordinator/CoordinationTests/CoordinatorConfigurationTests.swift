import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import PhoneNumbers
import PostgreSQL
import SQLite
import ServiceRuntime
import TestSupport
import Testing

@testable import Coordination

@Suite struct CoordinatorConfigurationTests {
  private func load(_ keys: String) throws -> LoadedConfiguration<CoordinatorConfiguration> {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    try writeSecrets(to: directory)
    let text = "{ broker: { url: 'amqp://localhost/' }, keysFile: 'keys.json', pepperFile: 'pepper', \(keys) }"
    return try CoordinatorConfiguration.load(file: directory.write(text, to: "coordinator.json5"), environment: [:])
  }

  private func writeSecrets(to directory: TemporaryDirectory) throws {
    let key = Base64URL.encode(SecureRandom.bytes(32))
    try directory.write("0123456789abcdef0123456789abcdef\n", to: "pepper")
    try directory.write(#"{"keys":[{"kty":"oct","kid":"k","alg":"A256GCM","k":"\#(key)"}]}"#, to: "keys.json")
  }

  private func problems(_ keys: String) throws -> [String] {
    do {
      _ = try load(keys)
      return []
    } catch let error as ConfigurationError {
      return error.problems.map(\.description)
    }
  }

  private func app(_ keys: String) -> String {
    "apps: { 'com.example.app': { name: 'Example', \(keys) } }, regions: { allowed: ['*'] }"
  }

  private func databaseOptions(_ configuration: CoordinatorConfiguration) -> DatabaseOptions? {
    guard case .sqlite(_, let options) = configuration.database else { return nil }
    return options
  }

  @Test(arguments: ["english", "klingon", "d", "de_CH", "de-", "e1"])
  func `A language that is no tag is refused`(language: String) throws {
    #expect(try problems(app("languageCode: '\(language)', verification: 'push'")).count == 1)
    for tag in ["de", "de-CH", "zh-Hant-TW", "fil"] {
      #expect(try problems(app("languageCode: '\(tag)', verification: 'push'")).isEmpty)
    }
  }

  @Test func `Page cache and readers have bounds, and commands an age`() throws {
    let options = try #require(databaseOptions(load("").content))
    #expect(options.cacheKiB == 16_384 && options.readers == 2)
    let loaded = try load("database: { cacheMiB: 256, readers: 3 }, commands: { maxAgeSeconds: 60 }").content
    #expect(databaseOptions(loaded)?.cacheKiB == 262_144)
    #expect(databaseOptions(loaded)?.readers == 3)
    #expect(loaded.rules.maxCommandAge == .seconds(60))
    #expect(try problems("database: { cacheMiB: 0 }").first?.contains("database.cacheMiB") == true)
    #expect(try problems("database: { cacheMiB: 1025 }").first?.contains("database.cacheMiB") == true)
    #expect(try problems("database: { readers: 9 }").first?.contains("database.readers") == true)
    #expect(try problems("commands: { maxAgeSeconds: 0 }").first?.contains("commands.maxAgeSeconds") == true)
  }

  @Test func `The database is a file, or a server with keys of its own`() throws {
    let server = try load("database: { type: 'postgresql', url: 'postgresql://me@localhost/countersign' }").content
    guard case .postgresql(let settings) = server.database else {
      Issue.record("not PostgreSQL")
      return
    }
    #expect(settings.endpoint.user == "me" && settings.options.maxReaders == 4)
    #expect(try problems("database: { type: 'postgresql' }").first?.contains("database.url: is required") == true)
    #expect(try problems("database: { type: 'postgres' }").first?.contains("did you mean postgresql?") == true)
    #expect(try problems("database: { url: 'postgresql://me@h/d' }").first?.contains("set type to postgresql") == true)
  }

  @Test func `The defaults are those of the limits and the policy, and allow nothing`() throws {
    let loaded = try load("")
    let rules = loaded.content.rules
    #expect(rules.policy == VerificationPolicy())
    #expect(rules.limits == Limits())
    #expect(rules.regions.allowed.isEmpty)
    #expect(rules.regions.refusedTypes == [.fixedLine, .voip])
    #expect(rules.apps.isEmpty)
    #expect(rules.conversion == ConversionPolicy())
    #expect(rules.operators == ["operator"] && rules.gateways == ["gateway"])
    #expect(!rules.isDevelopment)
    #expect(rules.onUnknown == .resend)
    #expect(loaded.warnings.count == 2)
  }

  @Test func `Development is off unless the file says so, and a warning says it is on`() throws {
    let loaded = try load("development: true")
    #expect(loaded.content.rules.isDevelopment)
    #expect(loaded.warnings.contains { "\($0)".contains("development") })
    #expect(try problems("development: 'yes'").first?.contains("development") == true)
  }

  @Test func `The annotated file explains every key`() throws {
    let file = Repository.config + "/coordinator.json5"
    let text = try String(contentsOf: URL(filePath: file), encoding: .utf8)
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let everyKey = try directory.write("{apps: {a: {}}}", to: "keys.json5")
    let keys = try CoordinatorConfiguration.keys(file: everyKey).map(\.path)
    #expect(keys.contains { $0.hasSuffix(".recaptchaAction") } && keys.contains("limits.wrongCodesPerDay"))
    let unexplained = keys.filter { key in !text.contains("\(key.split(separator: ".").last ?? ""):") }
    #expect(unexplained.isEmpty)
  }

  @Test func `Every key of the annotated file is known, and shows the default`() throws {
    let path = Repository.config + "/coordinator.json5"
    do {
      _ = try CoordinatorConfiguration.load(file: path, environment: [:])
    } catch {
      // The secrets are not there where this test runs.
      #expect(error.problems.allSatisfy { $0.description.contains("File: ") }, "\(error)")
    }
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    try writeSecrets(to: directory)
    let (secret, keys) = (directory.path + "/pepper", directory.path + "/keys.json")
    let loaded = try CoordinatorConfiguration.load(
      file: path,
      environment: [
        "COUNTERSIGN_PEPPER_FILE": secret, "COUNTERSIGN_BROKER_PASSWORD_FILE": secret, "COUNTERSIGN_KEYS_FILE": keys,
      ])
    #expect(loaded.content.rules.limits == Limits())
    #expect(loaded.content.rules.policy == VerificationPolicy())
    #expect(loaded.content.rules.regions == RegionRules(allowed: [], refusedTypes: [.fixedLine, .voip]))
    #expect(loaded.content.rules.retention == .seconds(86_400))
    #expect(loaded.content.rules.inboxRetention == .seconds(3600))
    #expect(loaded.content.prefetch == 512)
    #expect(loaded.content.rules.conversion == ConversionPolicy())
    #expect(loaded.content.rules.operators == CoordinatorRules.defaultOperators)
  }

  @Test func `Ten fictional numbers are allowed, an eleventh is an error`() throws {
    func numbers(_ count: Int) -> String {
      (0..<count).map { "'+1650555010\($0 % 10)\($0 >= 10 ? "0" : "")': '123456'" }.joined(separator: ", ")
    }
    #expect(try problems(app("verification: 'trusted', fictionalNumbers: { \(numbers(10)) }")).isEmpty)
    let eleven = try problems(
      app("verification: 'trusted', fictionalNumbers: { \(numbers(10)), '+447700900000': '123456' }"))
    #expect(eleven.count == 1)
    #expect(eleven[0].contains("at most 10"))
  }

  @Test(arguments: ["12345", "1234567", "12345a", "١٢٣٤٥٦", ""])
  func `A bad code and a bad number are errors`(code: String) throws {
    let found = try problems(app("verification: 'off', fictionalNumbers: { '+16505550101': '\(code)' }"))
    #expect(found.count == 1)
    #expect(found[0].contains("code of 6 digits"))
    #expect(code.isEmpty || !found[0].contains(code))
  }

  @Test(arguments: ["6505550101", "+1650", "+1 650 555 0101", "hello"])
  func `A number that is none is an error`(number: String) throws {
    let found = try problems(app("verification: 'off', fictionalNumbers: { '\(number)': '123456' }"))
    #expect(found.count == 1)
    #expect(found[0].contains("E.164"))
  }

  @Test func `A code that is easily guessed is warned of, and not repeated`() throws {
    let loaded = try load(
      app("verification: 'off', fictionalNumbers: { '+16505550101': '123123', '+16505550102': '271828' }"))
    let warnings = loaded.warnings.map(\.description).filter { $0.contains("easily guessed") }
    #expect(warnings.count == 1 && warnings.allSatisfy { $0.contains("+16505550101") && !$0.contains("123123") })
  }

  @Test func `A number outside of the ranges for fiction is warned of`() throws {
    let loaded = try load(
      app("verification: 'off', fictionalNumbers: { '+16505553434': '654321', '+16505550101': '123456' }"))
    #expect(loaded.warnings.map(\.description).filter { $0.contains("reserves for fiction") }.count == 1)
    #expect(loaded.content.rules.apps["com.example.app"]?.fictionalNumbers.count == 2)
  }

  @Test(arguments: AppVerification.allCases)
  func `Every way of verification can be configured`(verification: AppVerification) throws {
    let loaded = try load(app("verification: '\(verification.rawValue)', recaptchaAction: 'login'"))
    let profile = try #require(loaded.content.rules.apps["com.example.app"])
    #expect(profile.verification == verification)
    #expect(profile.recaptchaAction == "login")
  }

  @Test func `An Android app has its hash in place of a domain`() throws {
    let loaded = try load(app("verification: 'off', androidHash: 'FA+9qCX9VSu'"))
    #expect(loaded.content.rules.apps["com.example.app"]?.androidHash == "FA+9qCX9VSu")
  }

  @Test func `The table of young numbers is read with the configuration`() throws {
    let rules = try load("numberOverrides: '\(Repository.config)/number-overrides.json5'").content.rules
    #expect(rules.numberOverrides.count > 1000)
    #expect(try load("").content.rules.numberOverrides == .none)
  }

  @Test func `Receipts, assessments and revocations have rules of their own`() throws {
    let loaded = try load(
      """
      proof: { receiptLifetimeSeconds: 100, suggestedTimeoutSeconds: 5, pushDeadlineSeconds: 50, refusedTokenSeconds: 7,
        assessmentTimeoutSeconds: 9 },
      revocation: { deadlineSeconds: 120, noticeDeadlineSeconds: 240, noticeTemplate: 'n', retentionSeconds: 900 },
      limits: { receiptsPerDevicePerHour: 3, proofsPerAddressPerHour: 4 },
      apps: { a: { name: 'A', verification: 'push', receiptsValidFrom: '2026-07-01T12:00:00Z' } },
      """)
    let rules = loaded.content.rules
    #expect(
      rules.proof
        == ProofPolicy(
          credentialLifetime: .seconds(100), suggestedTimeout: .seconds(5), pushDeadline: .seconds(50),
          refusedTokenMemory: .seconds(7), assessmentTimeout: .seconds(9)))
    #expect(
      rules.revocation
        == RevocationPolicy(
          deadline: .seconds(120), noticeDeadline: .seconds(240), noticeTemplate: "n", retention: .seconds(900)))
    #expect(rules.limits[.receiptsPerDevicePerHour] == 3)
    #expect(rules.limits[.proofsPerAddressPerHour] == 4)
    #expect(rules.apps["a"]?.receiptsValidFrom == UnixTime(rfc3339: "2026-07-01T12:00:00Z"))
  }

  @Test func `The guard of the conversion is configured; its window may be longer than verifications are kept`() throws
  {
    let loaded = try load(
      """
      conversion: { enabled: false, floorPercent: 20, regionFloors: { US: 5, '+883': 0 }, minimumPerPrefix: 3,
        minimumPerRegion: 4, windowSeconds: 600, blockSeconds: 60 },
      operators: ['ada'], gateways: ['gateway', 'gateway-eu'],
      """)
    var policy = ConversionPolicy()
    policy.isEnabled = false
    policy.floorPercent = 20
    policy.regionFloors = ["US": 5, "+883": 0]
    policy.minimumPerPrefix = 3
    policy.minimumPerRegion = 4
    policy.window = .seconds(600)
    policy.blockLength = .seconds(60)
    #expect(loaded.content.rules.conversion == policy)
    #expect(loaded.content.rules.operators == ["ada"])
    #expect(loaded.content.rules.gateways == ["gateway", "gateway-eu"])
    let long = try load("conversion: { windowSeconds: 7200 }, verification: { retentionSeconds: 3600 },")
    #expect(long.content.rules.conversion.window == .seconds(7200))
    #expect(!long.warnings.contains { $0.description.contains("windowSeconds") }, "its counts are stored by themselves")
  }

  @Test(
    arguments: [
      ("verification: { lifetimeSeconds: 700 }", "must not be below"),
      ("regions: { allowed: ['usa'] }", "did you mean US?"), ("regions: { allowed: ['UK'] }", "did you mean GB?"),
      ("regions: { allowed: ['QQ'] }", "QQ is not a region's code of ISO 3166-1"),
      ("limits: { countryBudgets: { UK: 5 } }", "limits.countryBudgets: must name regions: UK is not a region's code"),
      ("numberOverrides: 'nowhere.json5'", "numberOverrides: cannot read"),
      ("numberOverrides: 'pepper'", "make it with deploy/renew-number-overrides"),
      ("numberOverrides: 'keys.json'", "keys.json is not a table of numbers: date is missing"),
      ("apps: { a: { name: 'A', verification: 'off', androidHash: 'FA+9qCX9VS' } }", "must be 11 letters, digits"),
      (
        "apps: { a: { name: 'A', verification: 'off', domain: 'a.example', androidHash: 'FA+9qCX9VSu' } }",
        "androidHash: stands beside domain"
      ),
      ("apps: { a: { name: 'A', verification: 'off', variables: { 'my city': 'B' } } }", "must be named by a letter"),
      ("apps: { a: { name: 'A', verification: 'off', variables: { city: 'a\\nb' } } }", "without line breaks"),
      ("apps: { a: { name: 'A', verification: 'off', startVariables: ['_'] } }", "must hold names"),
      (
        """
        apps: { a: { name: 'A', verification: 'off', variables: { a: 'x', b: 'x', c: 'x', d: 'x' },
          startVariables: ['d', 'e', 'f', 'g', 'h', 'i'] } }
        """,
        "startVariables: has more than 8 names, with those of variables"
      ),
      ("regions: { allowed: ['US'], refusedTypes: ['voipp'] }", "did you mean voip"),
      ("conversion: { regionFloors: { usa: 5 } }", "did you mean US?"),
      ("conversion: { floorPercent: 101 }", "from 0 to 100"),
      ("limits: { sendPerDay: 1 }", "did you mean limits.sendsPerDay"),
      ("apps: { a: { name: 'A', verification: 'maybe' } }", "must be off or trusted or push or recaptcha or audit"),
      ("apps: { a: { name: 'A' } }", "verification: is required"),
      ("apps: { a: { name: 'A', verification: 'push', receiptsValidFrom: 'July' } }", "must be a time"),
      ("proof: { suggestedTimeoutSeconds: 60, pushDeadlineSeconds: 59 }", "must not be below suggestedTimeoutSeconds"),
    ])
  func `Other malformed configuration is refused`(keys: String, text: String) throws {
    let found = try problems(keys)
    #expect(found.count == 1)
    #expect(found.first?.contains(text) == true, "\(found)")
  }
}
