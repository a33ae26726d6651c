import FoundationEssentials
import ServiceRuntime
import TestSupport
import Testing

@testable import Projects

/// A projects file in a directory of its own.
final class ProjectsDirectory: Sendable {
  private let directory = FileManager.default.temporaryDirectory.appending(path: "projects-\(UUID().uuidString)")

  init() throws { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(at: directory) }  // What is left over is in /tmp.

  var path: String { directory.appending(path: "projects.json5").path(percentEncoded: false) }

  func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }

  /// Reads a file with one project `example` that has further keys.
  func load(_ keys: String, apps: String = "", more: String = "") throws -> Projects {
    try write(
      """
      { projects: { example: { number: 100000000001, apiKeys: ["fake-api-key"], \(keys) apps: { \(apps) } }, \(more) } }
      """)
    return try ProjectsFile.load(path).content
  }

  /// Problems of that file. Empty when it is right.
  func problems(_ keys: String, apps: String = "", more: String = "") throws -> String {
    do {
      _ = try load(keys, apps: apps, more: more)
      return ""
    } catch let error as ConfigurationError { return error.description }
  }
}

@Suite struct ProjectsFileTests {
  private let file: ProjectsDirectory

  init() throws { file = try ProjectsDirectory() }

  @Test func `A whole project is read`() throws {
    let projects = try file.load(
      """
      authDomain: "example.firebaseapp.com", authorizedDomains: ["localhost"], methods: { phone: true },
      recentLogin: { phone: false, linking: true },
      recaptcha: { siteKey: "k2", enterpriseKey: "projects/p/keys/k", phone: "AUDIT" },
      """,
      apps: """
        "com.example.app": { platform: "ios", appID: "1:100000000001:ios:0123456789abcdef" },
        page: { platform: "web", appID: "1:100000000001:web:0123456789abcdef", origins: ["https://example.com"] },
        """)
    let project = try #require(projects["example"])
    #expect(projects.project(ofKey: "fake-api-key") == project && projects.project(ofKey: "other") == nil)
    #expect(project.number == 100_000_000_001 && project.methods == [.phone])
    #expect(!project.recentLogin.phone && project.recentLogin.linking)
    #expect(project.authDomain == "example.firebaseapp.com" && project.authorizedDomains == ["localhost"])
    #expect(
      project.recaptcha == Project.Recaptcha(siteKey: "k2", enterpriseKey: "projects/p/keys/k", phone: .audit))
    let app = try #require(project.app(id: "com.example.app"))
    #expect(app.platform == .ios && project.app(appID: app.appID) == app)
    #expect(app.encodedAppID == "app-1-100000000001-ios-0123456789abcdef")
    #expect(project.app(origin: "https://example.com")?.id == "page")
    #expect(project.app(origin: "https://example.com.evil.example") == nil)
  }

  @Test func `Methods that are not named are off`() throws {
    #expect(try file.load("").all["example"]?.methods == [])
    let recentLogin = try #require(try file.load("").all["example"]?.recentLogin)
    #expect(recentLogin.phone && !recentLogin.linking)
  }

  @Test(
    arguments: [
      ("authDomain: 'https://example.com',", "projects.example.authDomain: must be a host name"),
      ("authorizedDomains: ['localhost:80'],", "authorizedDomains.0: must be a host name"),
      ("methods: { sms: true },", "projects.example.methods.sms: unknown key"),
      ("recaptcha: { phone: 'ENFORCE' },", "recaptcha.phone: needs enterpriseKey"),
      ("recaptcha: { enterpriseKey: 'k' },", "enterpriseKey: must be projects/PROJECT/keys/KEY"),
      ("recaptcha: { phone: 'ENFORCED' },", "did you mean ENFORCE?"),
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
        "b.appID: is that of projects.example.apps.a as well"
      ),
    ])
  func `A wrong app is named, with its fix`(apps: String, problem: String) throws {
    let problems = try file.problems("", apps: apps)
    #expect(problems.contains(problem), "\(problems)")
  }

  @Test func `Projects share neither key, number, app nor origin`() throws {
    let app = "app: { platform: 'web', appID: '1:100000000001:web:01234567', origins: ['https://e.com'] }"
    let problems = try file.problems(
      "", apps: app,
      more: """
        second: { number: 100000000001, apiKeys: ["fake-api-key"],
          apps: { app: { platform: "web", appID: "1:100000000001:web:01234568", origins: ["https://e.com"] } } }
        """)
    for part in [
      "second.number: is that of projects.example as well",
      "second.apiKeys.0: is the same as projects.example.apiKeys.0",
      "stands below an app that projects.example.apps.app has as well",
      "origins.0: is that of projects.example.apps.app",
    ] {
      #expect(problems.contains(part), "\(part): \(problems)")
    }
  }

  @Test func `ID, number and API keys are required and have their forms`() throws {
    try file.write("{ projects: { Example: { apiKeys: [] }, 'ok-project': { number: 5, apiKeys: ['short'] } } }")
    let error = #expect(throws: ConfigurationError.self) { try ProjectsFile.load(file.path) }
    let problems = try #require(error).description
    for part in [
      "projects.Example.number: stands below an ID that is not 6 to 30", "projects.Example.number: is required",
      "projects.Example.apiKeys: must be 1 to 10 API keys", "ok-project.apiKeys.0: must be 8 to 128 letters",
    ] {
      #expect(problems.contains(part), "\(part): \(problems)")
    }
    let keys = (0..<11).map { "'fake-api-key-\($0)'" }.joined(separator: ", ")
    try file.write("{ projects: { example: { number: 1, apiKeys: [\(keys)] } } }")
    #expect(throws: ConfigurationError.self) { try ProjectsFile.load(file.path) }
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

  /// A configuration that names the file as accounts and gateway do.
  private struct Naming: Configuration {
    let file: ProjectsFile
    init(_ section: ConfigurationSection) { file = ProjectsFile(section) }
  }

  @Test func `Its problems are those of the configuration that names it, and a variable names another file`() throws {
    try file.write("{ projects: { example: { number: 1, apiKeys: ['fake-api-key'] } } }")
    let environment = ["COUNTERSIGN_PROJECTS_FILE": file.path]
    #expect(try Naming.load(file: nil, environment: environment).content.file.projects["example"]?.number == 1)
    try file.write("{ projects: { example: { number: 0, apiKeys: ['fake-api-key'] } } }")
    let error = #expect(throws: ConfigurationError.self) { try Naming.load(file: nil, environment: environment) }
    let text = try #require(error).description
    #expect(
      text.contains("projectsFile") && text.contains("projects.example.number: must be a whole number"), "\(text)")
    #expect(throws: ConfigurationError.self) {
      try Naming.load(file: nil, environment: ["COUNTERSIGN_PROJECTS_FILE": file.path + ".absent"])
    }
  }
}

@Suite struct ShippedProjectsTests {
  private let text: String

  init() throws {
    text = String(decoding: try Data(contentsOf: URL(filePath: Repository.config + "/projects.json5")), as: UTF8.self)
  }

  @Test func `It is valid, and so is its example, once the comment signs are gone`() throws {
    #expect(try ProjectsFile.load(Repository.config + "/projects.json5").content.all.isEmpty)
    let file = try ProjectsDirectory()
    try file.write(Self.uncommented(text))
    let project = try #require(try ProjectsFile.load(file.path).content["example-project"])
    #expect(project.apps.count == 2 && project.recaptcha?.enterpriseKey != nil)
  }

  @Test func `It explains every key`() throws {
    let file = try ProjectsDirectory()
    try file.write(Self.uncommented(text))
    let keys = try Projects.keys(file: file.path).map(\.path)
    #expect(keys.count > 12)
    let unexplained = keys.filter { key in !text.contains("\(key.split(separator: ".").last ?? ""):") }
    #expect(unexplained.isEmpty, "\(unexplained)")
  }

  @Test func `That of the development stack is valid`() throws {
    let projects = try ProjectsFile.load(Repository.root + "/deploy/dev/projects.json5").content
    let project = try #require(projects.project(ofKey: "fake-api-key"))
    #expect(project.id == "example" && project.number == 100_000_000_001 && project.methods == [.phone, .anonymous])
    #expect(project.app(origin: "http://localhost:5000")?.id == "com.example.web")
  }

  /// The text with what is commented out of its section `projects`. Comments inside it have two signs.
  private static func uncommented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.hasPrefix("    // ") ? String(line.dropFirst(7)) : String(line)
    }.joined(separator: "\n")
  }
}
