import CountersignTelemetry
import FoundationEssentials
import ServiceRuntime
import TestSupport
import Testing

@testable import Projects

final class SampleProjects: Sendable {
  private let url = FileManager.default.temporaryDirectory.appending(path: "projects-\(UUID().uuidString)")

  init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(at: url) }  // What is left over is in /tmp.

  var path: String { url.path(percentEncoded: false) }
  var directory: ConfigurationDirectory<Project> { .projects(path) }

  func write(_ text: String) throws { try write("example", text) }
  func write(_ id: String, _ text: String) throws { try put("\(id).json5", text) }
  func put(_ name: String, _ text: String) throws { try Data(text.utf8).write(to: url.appending(path: name)) }
  func remove(_ name: String) throws { try FileManager.default.removeItem(at: url.appending(path: name)) }

  static func example(_ keys: String = "", apps: String = "") -> String {
    "{ number: 100000000001, apiKeys: ['fake-api-key'], \(keys) apps: { \(apps) } }"
  }

  func load(_ keys: String, apps: String = "") throws -> Projects {
    try write(Self.example(keys, apps: apps))
    let reading = directory.load()
    guard reading.problems.isEmpty else { throw ConfigurationError(reading.problems) }
    return Projects(Array(reading.contents.values))
  }

  func problems(_ keys: String = "", apps: String = "") throws -> String {
    try write(Self.example(keys, apps: apps))
    return found
  }

  /// A configuration that names the directory, beside it.
  func configuration() throws -> String {
    let file = url.deletingLastPathComponent().appending(path: "\(url.lastPathComponent).json5")
    try Data("{ projectsDirectory: '\(path)' }".utf8).write(to: file)
    return file.path(percentEncoded: false)
  }

  var found: String { directory.load().problems.map(\.description).joined(separator: "\n") }
}

@Suite struct ProjectsDirectoryTests {
  private let file: SampleProjects

  init() throws { file = try SampleProjects() }

  @Test func `A whole project is read`() throws {
    let projects = try file.load(
      """
      authDomain: "example.firebaseapp.com", authorizedDomains: ["localhost"], methods: { phone: true },
      recentLogin: { phone: false, linking: true }, consent: { linking: "require" },
      recaptcha: { siteKey: "k2", enterpriseKey: "projects/p/keys/k", phone: "AUDIT" },
      """,
      apps: """
        "com.example.app": { platform: "ios", appID: "1:100000000001:ios:0123456789abcdef" },
        page: { platform: "web", appID: "1:100000000001:web:0123456789abcdef", origins: ["https://example.com"] },
        """)
    let project = try #require(projects["example"])
    #expect(projects.project(ofKey: "fake-api-key") == project && projects.project(ofKey: "other") == nil)
    #expect(project.number == 100_000_000_001 && project.methods == [.phone])
    #expect(!project.recentLogin.phone && project.recentLogin.linking && project.consent.linking == .require)
    #expect(project.authDomain == "example.firebaseapp.com" && project.authorizedDomains == ["localhost"])
    #expect(
      project.recaptcha == Project.Recaptcha(siteKey: "k2", enterpriseKey: "projects/p/keys/k", phone: .audit))
    let app = try #require(project.app(id: "com.example.app"))
    #expect(app.platform == .ios && project.app(appID: app.appID) == app)
    #expect(app.encodedAppID == "app-1-100000000001-ios-0123456789abcdef")
    #expect(project.app(origin: "https://example.com")?.id == "page")
    #expect(project.app(origin: "https://example.com.evil.example") == nil)
  }

  @Test func `Providers are methods, and need what the provider knows the project by`() throws {
    let app = #""com.example.app": { platform: "ios", appID: "1:100000000001:ios:0123456789abcdef" }"#
    let project = try #require(
      try file.load(
        """
        methods: { "apple.com": true, "google.com": true, "facebook.com": true, "oidc.example": true, phone: false },
        providers: { "apple.com": { clientIDs: ["web"], teamID: "TEAM000001", keyID: "KEY0000001" }, "google.com": { clientIDs: ["g"] }, "facebook.com": { appID: "1" } },
        """, apps: app)["example"])
    #expect(project.methods.map(\.rawValue).sorted() == ["apple.com", "facebook.com", "google.com", "oidc.example"])
    #expect(project.methods.contains(.provider("apple.com")) && !project.emulatorTokens)
    #expect(project.clientIDs(of: "apple.com") == ["com.example.app", "web"] && project.clientIDs(of: "x.y") == [])
    #expect(project.providers["apple.com"]?.teamKey == Project.TeamKey(teamID: "TEAM000001", keyID: "KEY0000001"))
    #expect(
      try file.load("methods: { 'apple.com': true },", apps: app)["example"]?.clientIDs(of: "apple.com").count == 1)
    for (keys, problem) in [
      ("methods: { 'apple.com': true },", "providers.apple.com.clientIDs: is missing"),
      ("methods: { 'google.com': true },", "providers.google.com.clientIDs: is missing"),
      ("methods: { 'facebook.com': true },", "providers.facebook.com.appID: is missing"),
      ("methods: { mail: true },", "methods.mail: is no way to sign in"),
      ("methods: { phone: 'yes' },", "methods.phone"), ("providers: { apple: {} },", "providers.apple: is not the ID"),
      ("providers: { 'apple.com': { clientIDs: ['a b'] } },", "clientIDs.0"),
      ("providers: { 'apple.com': { secret: 'x' } },", "providers.apple.com.secret"),
      ("providers: { 'apple.com': { teamID: 'TEAM000001' } },", "providers.apple.com.teamID: and keyID come together"),
      ("providers: { 'apple.com': { teamID: 'TEAM 1', keyID: 'KEY0000001' } },", "providers.apple.com.teamID: must be"),
    ] {
      let found = try file.problems(keys)
      #expect(found.contains(problem), "\(keys): \(found)")
    }
    #expect(try file.problems("methods: { 'google.com': false },").isEmpty)
  }

  @Test func `An OpenID Connect provider stands in the file, without what belongs to its flow`() throws {
    let full = """
      providers: { "oidc.example": {
        displayName: "Example", issuer: "https://id.example.com", clientIDs: ["a", "b"], platforms: { a: "ios" },
        flow: "idToken", scopes: ["email"], parameters: { prompt: "login" }, trustsEmail: true,
      } },
      """
    let openID = try #require(try file.load(full)["example"]?.providers["oidc.example"]?.openID)
    #expect(openID.issuer == "https://id.example.com" && openID.platforms == ["a": .ios] && !openID.usesCodeFlow)
    #expect(openID.scopes == ["email"] && openID.parameters == ["prompt": "login"] && openID.displayName == "Example")
    #expect(openID.trustsEmail)
    #expect(try file.load(full)["example"]?.clientIDs(of: "oidc.example") == ["a", "b"])
    let least = "issuer: 'https://id.example.com', clientIDs: ['a']"
    let usual = try #require(
      try file.load("providers: { 'oidc.a': { \(least) } },")["example"]?.providers["oidc.a"]?.openID)
    #expect(usual.usesCodeFlow && !usual.trustsEmail)
    for (facts, problem) in [
      ("clientIDs: ['a']", "issuer: must be"), ("issuer: 'http://id.example.com', clientIDs: ['a']", "issuer: must be"),
      ("issuer: 'https://a@id.example.com', clientIDs: ['a']", "issuer: must be"),
      ("issuer: 'https://id.example.com'", "clientIDs: must be 1 to 10"),
      ("issuer: 'https://id.example.com', clientIDs: ['a', 'a']", "clientIDs: has a client twice"),
      ("\(least), platforms: { b: 'ios' }", "platforms: has a client"),
      ("\(least), platforms: { a: 'tv' }", "platforms: must be"), ("\(least), flow: 'implicit'", "flow"),
      ("\(least), scopes: ['a b']", "scopes"), ("\(least), parameters: { state: 'x' }", "must not have state"),
      ("\(least), parameters: { 'a b': 'x' }", "parameters: must be"), ("\(least), secret: 'x'", "secret"),
      ("\(least), appID: 'x'", "appID"), ("\(least), trustsEmail: 'yes'", "trustsEmail"),
    ] {
      let found = try file.problems("providers: { 'oidc.a': { \(facts) } },")
      #expect(found.contains(problem), "\(facts): \(found)")
    }
    let name = String(repeating: "a", count: 33)
    #expect(try file.problems("providers: { 'oidc.\(name)': { \(least) } },").contains("is not oidc."))
  }

  @Test(arguments: OpenIDForms.reservedParameters.sorted()) func `Each reserved parameter is named`(
    name: String
  ) throws {
    let facts = "issuer: 'https://id.example.com', clientIDs: ['a'], parameters: { \(name): 'x' }"
    #expect(try file.problems("providers: { 'oidc.a': { \(facts) } },").contains("must not have \(name)"))
  }

  @Test func `Unsigned credentials need development mode`() throws {
    try file.write(SampleProjects.example("emulatorTokens: true,"))
    #expect(file.directory.load().contents["example"]?.emulatorTokens == true)
    let strict = ConfigurationDirectory<Project>.projects(file.path, isDevelopment: false).load()
    #expect(strict.contents.isEmpty && strict.problems.first?.description.contains("emulatorTokens") == true)
    try file.write("other", #"{ number: 2, apiKeys: ['other-api-key'], apps: {} }"#)
    #expect(throws: ConfigurationError.self) {
      try StrictProjects.load(file: file.configuration(), environment: [:])
    }
  }

  private struct StrictProjects: Configuration {
    init(_ section: ConfigurationSection) { _ = ProjectsDirectory(section, isDevelopment: false) }
  }

  @Test func `Rules of passwords and mails are read, and have defaults`() throws {
    let plain = try #require(try file.load("")["example"])
    #expect(plain.passwords == Project.PasswordRules() && plain.mail == Project.Mail())
    #expect(plain.passwords.minLength == 6 && plain.protectsAddresses && !plain.allowsDuplicateEmails)
    #expect(plain.withoutWayIn == .keep)
    let project = try #require(
      try file.load(
        """
        methods: { password: true, emailLink: true, custom: true }, protectsAddresses: false, allowsDuplicateEmails: true,
        withoutWayIn: "delete",
        passwords: { minLength: 12, lowercase: true, uppercase: true, digit: true, symbol: true },
        mail: { from: "hello@example.com", appName: "Example", actionURL: "http://localhost:80/action" },
        """)["example"])
    #expect(project.methods == [.password, .emailLink, .custom])
    #expect(!project.protectsAddresses && project.allowsDuplicateEmails && project.withoutWayIn == .delete)
    let rules = project.passwords
    #expect(rules.minLength == 12 && rules.needsLowercase && rules.needsUppercase && rules.needsDigit)
    #expect(rules.needsSymbol && project.mail.from == "hello@example.com" && project.mail.appName == "Example")
    #expect(project.mail.actionURL == "http://localhost:80/action")
  }

  @Test(arguments: [
    ("passwords: { minLength: 5 },", "passwords.minLength"), ("passwords: { minLength: 31 },", "passwords.minLength"),
    ("mail: { from: 'hello' },", "mail.from: must be an address"),
    ("mail: { appName: '' },", "mail.appName: must be 1 to 64 characters"),
    ("mail: { actionURL: 'http://example.com/a' },", "mail.actionURL: must be an address of https://"),
    ("mail: { actionURL: 'https://example.com/?a' },", "mail.actionURL"),
    ("mail: { actionURL: 'http://localhost.example.com/' },", "mail.actionURL"),
    ("protectsAddresses: 'yes',", "protectsAddresses"), ("withoutWayIn: 'erase',", "withoutWayIn"),
  ])
  func `Wrong rules of passwords and mails are named`(keys: String, problem: String) throws {
    let problems = try file.problems(keys)
    #expect(problems.contains(problem), "\(keys): \(problems)")
  }

  @Test func `Methods that are not named are off`() throws {
    #expect(try file.load("").all["example"]?.methods == [])
    let recentLogin = try #require(try file.load("").all["example"]?.recentLogin)
    #expect(recentLogin.phone && !recentLogin.linking)
    #expect(try file.load("").all["example"]?.consent.linking == .record)
  }

  @Test(
    arguments: [
      ("authDomain: 'https://example.com',", "example.json5: authDomain: must be a host name"),
      ("authorizedDomains: ['localhost:80'],", "authorizedDomains.0: must be a host name"),
      ("methods: { sms: true },", "example.json5: methods.sms: is no way to sign in: it must be phone"),
      ("recaptcha: { phone: 'ENFORCE' },", "recaptcha.phone: needs enterpriseKey"),
      ("recaptcha: { enterpriseKey: 'k' },", "enterpriseKey: must be projects/PROJECT/keys/KEY"),
      ("recaptcha: { phone: 'ENFORCED' },", "did you mean ENFORCE?"),
      ("consent: { linking: 'demand' },", "example.json5: consent.linking: must be one of record, require"),
    ])
  func `What is wrong is named, with its fix`(keys: String, problem: String) throws {
    let problems = try file.problems(keys)
    #expect(problems.contains(problem), "\(problems)")
  }

  @Test(
    arguments: [
      ("a: { appID: '1:100000000001:web:01234567' }", "a.platform: is required: ios, web or android"),
      ("a: { platform: 'web' }", "a.appID: is required"),
      ("a: { platform: 'web', appID: '1:2:web:01234567' }", "appID: must be 1:100000000001:web:"),
      ("a: { platform: 'web', appID: '1:100000000001:ios:01234567' }", "appID: must be 1:100000000001:web:"),
      ("'a b': { platform: 'web', appID: '1:100000000001:web:01234567' }", "stands below an ID"),
      (
        "a: { platform: 'ios', appID: '1:100000000001:ios:01234567', origins: ['https://e.com'] }",
        "origins: belongs to web apps"
      ),
      (
        "a: { platform: 'web', appID: '1:100000000001:web:01234567', origins: ['https://e.com/'] }",
        "origins.0: must be scheme://host"
      ),
      (
        "a: { platform: 'ios', appID: '1:100000000001:ios:01234567' }, b: { platform: 'ios', appID: '1:100000000001:ios:01234567' }",
        "b.appID: is that of apps.a as well"
      ),
      (
        "a: { platform: 'web', appID: '1:100000000001:web:01234567', origins: ['https://e.com'] }, b: { platform: 'web', appID: '1:100000000001:web:01234568', origins: ['https://e.com'] }",
        "b.origins.0: is that of apps.a as well"
      ),
    ])
  func `A wrong app is named, with its fix`(apps: String, problem: String) throws {
    let problems = try file.problems("", apps: apps)
    #expect(problems.contains(problem), "\(problems)")
  }

  @Test func `Projects share neither key, number nor app, but origins`() throws {
    let web = "platform: 'web', appID: '1:100000000001:web:01234567', origins: ['https://e.com']"
    #expect(try file.problems(apps: "app: { \(web) }").isEmpty)
    for (keys, problem) in [
      ("number: 100000000001, apiKeys: ['other-key']", "number: is that of"),
      ("number: 2, apiKeys: ['fake-api-key']", "apiKeys: is that of"),
      (
        "number: 2, apiKeys: ['other-key'], apps: { app: { platform: 'web', appID: '1:2:web:01234567' } }",
        "apps.app: is that of"
      ),
    ] {
      try file.write("second", "{ \(keys) }")
      let problems = file.found
      #expect(problems.contains("second.json5: ") && problems.contains(problem), "\(problem): \(problems)")
    }
    let other = "{ platform: 'web', appID: '1:2:web:01234567', origins: ['https://e.com'] }"
    try file.write("second", "{ number: 2, apiKeys: ['other-key'], apps: { other: \(other) } }")
    #expect(file.found.isEmpty)
  }

  @Test func `Number and API keys are required and have their forms`() throws {
    try file.write("{ apiKeys: [] }")
    try file.write("ok-project", "{ number: 5, apiKeys: ['short'] }")
    for part in [
      "example.json5: number: is required", "example.json5: apiKeys: must be 1 to 10 API keys",
      "ok-project.json5: apiKeys.0: must be 8 to 128 letters",
    ] {
      #expect(file.found.contains(part), "\(part): \(file.found)")
    }
    let keys = (0..<11).map { "'fake-api-key-\($0)'" }.joined(separator: ", ")
    try file.write("{ number: 1, apiKeys: [\(keys)] }")
    #expect(file.found.contains("example.json5: apiKeys: must be"))
  }

  @Test func `Files that are not named ID.json5 are errors, and those of other kinds are passed over`() throws {
    try file.write(SampleProjects.example())
    for name in [
      ".hidden", ".example.json5.swp", "example.json5~", "old.swp", "example.json5.dpkg-old", "#example.json5#",
      "README", "example-2.json", "example.json5.bak", ".#example.json5",
    ] {
      try file.put(name, "nonsense")
    }
    #expect(file.found.isEmpty)
    for name in ["Example.json5", "short.json5"] {
      try file.put(name, SampleProjects.example())
      #expect(file.found.contains("/\(name): is not named ID.json5; an ID has 6 to 30"), "\(file.found)")
      try file.remove(name)
    }
  }

  @Test func `A directory has bounds`() throws {
    try file.write("{ /* \(String(repeating: " ", count: 1 << 20)) */ }")
    #expect(file.found.contains("is larger than 1048576 bytes"))
    for number in 0..<16 { try file.put("a\(number).json5", String(repeating: " ", count: 1 << 20)) }
    #expect(!file.found.contains("bytes in its files"))
    try file.put("a16.json5", " ")
    #expect(file.found.contains("has more than 16777216 bytes in its files"))
    for number in 0..<1000 { try file.put("b\(number).json5", "") }
    #expect(file.found.contains("has more than 1000 files"))
  }

  @Test(
    arguments: [
      ("example", true), ("ex-1-a", true), ("short", false), ("1example", false), ("example-", false),
      ("exam_ple", false), ("Example", false), (String(repeating: "a", count: 31), false),
    ])
  func `Project IDs`(id: String, isOne: Bool) { #expect(ProjectForms.isProjectID(id) == isOne) }

  @Test(
    arguments: [
      ("https://example.com", true), ("https://example.com:8443", true), ("http://localhost:5000", true),
      ("http://localhost:*", true), ("http://127.0.0.1:*", true), ("http://[::1]:3000", true),
      ("capacitor://localhost", true), ("https://example.com:*", false), ("https://example.com:443", false),
      ("http://example.com:80", false), ("https://example.com/", false), ("https://Example.com", false),
      ("example.com", false), ("https://", false), ("https://a..b", false), ("https://e.com:", false),
      ("https://e.com:08", false), ("https://e.com:70000", false), ("https://u@e.com", false), ("null", false),
    ])
  func `Origins`(origin: String, isOne: Bool) { #expect(ProjectForms.isOrigin(origin) == isOne) }

  @Test func `Any port of the own machine`() {
    let app = ProjectApp(id: "page", platform: .web, appID: "1:1:web:01234567", origins: ["http://localhost:*"])
    for origin in ["http://localhost", "http://localhost:5000"] { #expect(app.accepts(origin: origin), "\(origin)") }
    for origin in [
      "http://localhost.evil.example", "http://localhost:5000.evil.example", "https://localhost:5000",
      "http://localhost:", "http://localhost:*", "http://localhost:99999",
    ] {
      #expect(!app.accepts(origin: origin), "\(origin)")
    }
  }

  /// A configuration that names the directory as accounts and gateway do.
  private struct Naming: Configuration {
    let directory: ProjectsDirectory
    init(_ section: ConfigurationSection) { directory = ProjectsDirectory(section, isDevelopment: false) }
  }

  private func naming(_ environment: [String: String]) -> String {
    do throws(ConfigurationError) {
      _ = try Naming.load(file: nil, environment: environment)
      return ""
    } catch { return error.description }
  }

  @Test func `Its problems are those of the configuration that names it, and a variable names another one`() throws {
    try file.write("{ number: 1, apiKeys: ['fake-api-key'] }")
    let environment = ["COUNTERSIGN_PROJECTS_DIRECTORY": file.path]
    let loaded = try Naming.load(file: nil, environment: environment)
    #expect(loaded.content.directory.projects["example"]?.number == 1 && loaded.warnings.isEmpty)
    // A wrong file is left out, unless none is right.
    try file.write("second", "{ number: 0, apiKeys: ['other-key'] }")
    let besides = try Naming.load(file: nil, environment: environment)
    #expect(besides.content.directory.projects.all.keys.sorted() == ["example"])
    #expect(besides.warnings.contains { $0.text.contains("left out: ") && $0.text.contains("second.json5: number") })
    try file.write("nonsense")
    let text = naming(environment)
    #expect(
      text.contains("projectsDirectory") && text.contains("second.json5: number: must be a whole number"), "\(text)")
    for name in ["example.json5", "second.json5"] { try file.remove(name) }
    let emptied = try Naming.load(file: nil, environment: environment)
    #expect(emptied.warnings.contains { $0.text.contains("has no project, so sign-in is impossible") })
    #expect(naming(["COUNTERSIGN_PROJECTS_DIRECTORY": file.path + "/absent"]).contains("absent: is no directory"))
    #expect(naming(["COUNTERSIGN_PROJECTS_FILE": "projects.json5"]).contains("is projectsDirectory now"))
  }
}

@Suite struct ProjectsWatchTests {
  private let file: SampleProjects
  private let source = ProjectsSource(Projects([]))
  private let context = ServiceContext(
    name: "gateway", instance: "gateway", logger: Logger(label: "test", sink: MemorySink()))

  init() throws {
    file = try SampleProjects()
    try configure("example", "1")
    try configure("second", "2")
  }

  private func configure(_ id: String, _ number: String, key: String? = nil) throws {
    try file.write(id, "{ number: \(number), apiKeys: ['\(key ?? "key-of-\(id)")'] }")
  }

  private var numbers: [String: UInt64] { source.current.all.mapValues(\.number) }

  @Test func `A wrong file leaves its project as it was and is named, and the others are taken`() throws {
    let watcher = FileWatcher.projects(file.directory, source, context)
    #expect(watcher.look() == .taken && watcher.look() == .unchanged)
    #expect(numbers == ["example": 1, "second": 2])
    for wrong in ["0", "nonsense"] {
      try configure("example", wrong)
      for _ in 0..<2 { #expect(watcher.look() == .refused) }
      #expect(numbers == ["example": 1, "second": 2])
    }
    try configure("second", "3")
    #expect(watcher.look() == .refused && numbers == ["example": 1, "second": 3])
    let detail = try #require(context.health.report().checks.first { $0.name == "projects" })
    #expect(detail.ok && detail.detail?.contains("wrong file: example.json5:1: this line") == true)
    let report = context.runtime.report(clock: SystemClock(), isGuarded: false)
    #expect(report.wrongProjects?.hasPrefix("example.json5:1") == true)
    #expect(context.metrics.render().contains("countersign_projects_file_current 0"))
    // Each is counted once, however often it is tried.
    #expect(context.metrics.render().contains(#"countersign_projects_reads_total{outcome="refused"} 3"#))
    // The first state again means something else by now.
    try configure("example", "1")
    try configure("second", "2")
    #expect(watcher.look() == .taken && numbers == ["example": 1, "second": 2] && watcher.problem == nil)
    #expect(context.metrics.render().contains("countersign_projects_file_current 1"))
  }

  @Test func `A new file adds a project, a removed one removes it, and without the directory all stay`() throws {
    let watcher = FileWatcher.projects(file.directory, source, context)
    watcher.look()
    try configure("third-one", "3")
    #expect(watcher.look() == .taken && numbers.count == 3)
    try file.remove("third-one.json5")
    // It may be absent for a moment.
    #expect(watcher.look() == .taken && numbers.count == 3)
    try configure("third-one", "3")
    #expect(watcher.look() == .taken && numbers.count == 3)
    try file.remove("third-one.json5")
    #expect(watcher.look() == .taken && numbers.count == 3)
    #expect(watcher.look() == .taken && numbers == ["example": 1, "second": 2] && watcher.look() == .unchanged)
    for name in ["example.json5", "second.json5"] { try file.remove(name) }
    for _ in 0..<3 { #expect(watcher.look() == .refused && numbers.count == 2) }
    #expect(watcher.problem?.contains("has no file") == true)
    #expect(context.metrics.render().contains("countersign_projects_file_current 0"))
    try FileManager.default.removeItem(atPath: file.path)
    #expect(watcher.look() == .refused && numbers.count == 2)
    try FileManager.default.createDirectory(atPath: file.path, withIntermediateDirectories: true)
    try configure("second", "2")
    #expect(watcher.look() == .unchanged && numbers.count == 2)
    #expect(watcher.look() == .taken && numbers == ["second": 2])
  }

  @Test func `A start beside a wrong file has the right ones, and names it`() throws {
    try configure("example", "0")
    let watcher = FileWatcher.projects(file.directory, source, context)
    source.take(Projects(Array(file.directory.load().contents.values)))
    #expect(watcher.look() == .refused && numbers == ["second": 2])
    #expect(watcher.problem?.contains("example.json5: number") == true)
    #expect(context.metrics.render().contains("countersign_projects_file_current 0"))
    try configure("example", "1")
    #expect(watcher.look() == .taken && numbers == ["example": 1, "second": 2])
  }

  @Test func `A key of another project is refused until that has given it up`() throws {
    let watcher = FileWatcher.projects(file.directory, source, context)
    watcher.look()
    try configure("example", "5", key: "key-of-second")
    #expect(watcher.look() == .refused && numbers == ["example": 1, "second": 2])
    #expect(watcher.problem?.contains("example.json5: apiKeys: is that of") == true)
    try configure("second", "2", key: "another-key")
    #expect(watcher.look() == .taken && numbers == ["example": 5, "second": 2])
    // Both at once.
    try configure("example", "1", key: "another-key")
    try configure("second", "5", key: "key-of-second")
    #expect(watcher.look() == .taken && numbers == ["example": 1, "second": 5])
  }
}

@Suite struct ShippedProjectsTests {
  private let text: String

  init() throws {
    text = String(decoding: try Data(contentsOf: URL(filePath: Repository.config + "/project.json5")), as: UTF8.self)
  }

  @Test func `The example is valid, and the directory beside it is empty`() throws {
    let shipped = ConfigurationDirectory<Project>.projects(Repository.config + "/projects").load()
    #expect(shipped.contents.isEmpty && shipped.problems.isEmpty)
    let file = try SampleProjects()
    try file.write("example-project", text)
    #expect(file.found.isEmpty, "\(file.found)")
    let project = try #require(file.directory.load().contents["example-project"])
    #expect(project.apps.count == 2 && project.recaptcha?.enterpriseKey != nil)
  }

  @Test func `It explains every key`() throws {
    let keys = try Project.keys(file: Repository.config + "/project.json5").map(\.path)
    #expect(keys.count > 12)
    let unexplained = keys.filter { key in !text.contains("\(key.split(separator: ".").last ?? ""):") }
    #expect(unexplained.isEmpty, "\(unexplained)")
  }

  @Test func `That of the development stack is valid`() throws {
    let text = try String(contentsOfFile: Repository.root + "/deploy/dev/projects/example.json5", encoding: .utf8)
    let file = try SampleProjects()
    try file.write(text.replacing("@SIMULATOR_PORT@", with: "8090"))
    let reading = file.directory.load()
    #expect(reading.problems.isEmpty)
    let project = try #require(Projects(Array(reading.contents.values)).project(ofKey: "fake-api-key"))
    #expect(project.id == "example" && project.number == 100_000_000_001)
    #expect(
      project.methods
        == Set(
          Project.Method.own
            + ["apple.com", "google.com", "facebook.com", "oidc.example", "oidc.implicit"].map(Project.Method.provider))
    )
    #expect(project.mail.from == "hello@example.com" && project.protectsAddresses && !project.allowsDuplicateEmails)
    #expect(project.app(origin: "http://localhost:5000")?.id == "com.example.web")
  }
}
