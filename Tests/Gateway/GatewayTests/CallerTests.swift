import HTTPClient
import Projects
import Testing

@testable import Gateway

@Suite("Project, app and client of a call")
struct CallerTests {
  @Test("Without a key it is 403, with an unknown one 400") func keys() async throws {
    let gateway = try GatewayBench.echo()
    for target in [GatewayBench.signUp, GatewayBench.signUp + "?key=", GatewayBench.signUp + "?Key=fake-api-key"] {
      let answer = try await gateway.send("POST", target, body: [])
      #expect(answer.isError(403))
      #expect(answer.message == "The request is missing a valid API key.")
      #expect(answer.word == "PERMISSION_DENIED")
    }
    let answer = try await gateway.post(GatewayBench.signUp, "{}", key: "other")
    #expect(answer.isError(400))
    #expect(answer.message == "API key not valid. Please pass a valid API key.")
    #expect(answer.word == "INVALID_ARGUMENT")
    #expect(answer.reason == "keyInvalid")
  }

  @Test("The key may come in a header") func theKeyMayComeInAHeader() async throws {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(
      GatewayBench.signUp, "{}", key: nil, headers: [("X-Goog-Api-Key", GatewayBench.apiKey)])
    #expect(answer["project"] == .text("example"))
  }

  @Test("The key is looked at before the body") func theKeyIsLookedAtBeforeTheBody() async throws {
    let gateway = try GatewayBench.echo()
    #expect(try await gateway.post(GatewayBench.signUp, "x", key: nil).isError(403))
  }

  @Test(
    "The app is the one that the request names, else the first web app",
    arguments: [
      ([("X-Ios-Bundle-Identifier", "com.example.app")], "com.example.app"),
      // Apple's SDK sends both; the bundle ID decides.
      ([("X-Ios-Bundle-Identifier", "com.example.app"), ("X-Firebase-GMPID", "1:1:ios:00")], "com.example.app"),
      ([("X-Android-Package", "com.example.android")], "com.example.android"),
      ([("X-Firebase-GMPID", "1:100000000001:ios:0123456789abcdef")], "com.example.app"),
      ([("X-Firebase-GMPID", "1:100000000001:web:fedcba9876543210")], "second-web"),
      ([("Origin", "https://second.example.com")], "second-web"),
      ([("Origin", "https://www.example.com")], "example-web"),
      ([("Origin", "http://localhost:5173")], "example-web"),
      ([("Origin", "https://example.firebaseapp.com")], "example-web"),
      ([], "example-web"),
    ]) func theAppIsTheOneThatTheRequestNames(headers: [(String, String)], app: String) async throws
  {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(
      GatewayBench.signUp, "{}", headers: headers.map { (name: $0.0, value: $0.1) })
    #expect(answer["app"] == .text(app))
  }

  @Test(
    "An app that is not the project's is refused, and a page of another origin",
    arguments: [
      [("X-Ios-Bundle-Identifier", "com.example.other")],
      // An app of another platform.
      [("X-Ios-Bundle-Identifier", "example-web")],
      [("X-Android-Package", "com.example.app")],
      [("X-Firebase-GMPID", "1:2:web:00")],
      [("Origin", "https://evil.example")], [("Origin", "null")], [("Origin", "https://www.example.com:8443")],
      [("Origin", "http://127.0.0.1:5173")],
      // A page cannot pass for an app, nor for another page's.
      [("Origin", "https://evil.example"), ("X-Ios-Bundle-Identifier", "com.example.app")],
      [("Origin", "https://www.example.com"), ("X-Firebase-GMPID", "1:100000000001:web:fedcba9876543210")],
    ]) func anAppThatIsNotTheProjectsIsRefused(headers: [(String, String)]) async throws
  {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(
      GatewayBench.signUp, "{}", headers: headers.map { (name: $0.0, value: $0.1) })
    #expect(answer.isError(403))
    #expect(answer.reason == "ipRefererBlocked")
    #expect(answer.text.contains("evil") == false)
  }

  @Test("A page without an origin is told so", arguments: ["null", "file://"])
  func pagesWithoutAnOrigin(origin: String) async throws {
    for isDevelopment in [false, true] {
      let gateway = try GatewayBench.echo(isDevelopment: isDevelopment)
      let answer = try await gateway.post(GatewayBench.signUp, "{}", headers: [("Origin", origin)])
      #expect(answer.isError(403) && answer.reason == "ipRefererBlocked")
      #expect(answer.message?.contains("it has no origin") == true)
      // The page reads why.
      #expect(answer.headers["Access-Control-Allow-Origin"] == origin)
    }
  }

  @Test("In development pages of this machine are accepted") func inDevelopmentLocalPagesAreAccepted() async throws {
    let gateway = try GatewayBench.echo(isDevelopment: true)
    let answer = try await gateway.post(
      GatewayBench.signUp, "{}", headers: [("Origin", "http://127.0.0.1:5173")])
    #expect(answer["app"] == .text("example-web"))
  }

  @Test("A project without a web app has no app by default") func noAppByDefault() async throws {
    var project = GatewayBench.project
    project.apps.removeAll { $0.platform == .web }
    let gateway = try GatewayBench.echo(project: project)
    let answer = try await gateway.post(GatewayBench.signUp, "{}")
    #expect(answer.status == 200)
    #expect(answer["app"] == nil)
  }

  @Test(
    "The language is a tag, else absent",
    arguments: [("pt-BR", "pt-BR"), ("pt_BR", "pt-BR"), ("de", "de"), ("x", nil), ("de;q=1", nil), ("", nil)])
  func theLanguageIsATag(header: String, locale: String?) async throws {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(GatewayBench.signUp, "{}", headers: [("X-Firebase-Locale", header)])
    #expect(answer["locale"] == locale.map { .text($0) })
  }

  @Test("The instance names app or origin, and the user agent, and is bounded") func instance() async throws {
    let gateway = try GatewayBench.echo()
    let agent = String(repeating: "é", count: 2_000)
    let answer = try await gateway.post(
      GatewayBench.signUp, "{}",
      headers: [("X-Ios-Bundle-Identifier", "com.example.app"), ("User-Agent", agent)])
    let instance = try #require(answer["instance"]?.text)
    #expect(instance.hasPrefix("com.example.app é"))
    #expect(instance.utf8.count <= 512)
  }

  @Test("Only administrators name another project, and they are not offered yet") func targetProject() async throws {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(GatewayBench.signUp, #"{"targetProjectId": "example"}"#)
    #expect(answer.isError(400))
    #expect(answer.message?.hasPrefix("INSUFFICIENT_PERMISSION : ") == true)
  }

  @Test("A bearer is not valid", arguments: ["Bearer owner", "bearer x", "BEARER"]) func bearer(value: String)
    async throws
  {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(GatewayBench.signUp, "{}", headers: [("Authorization", value)])
    #expect(answer.isError(401))
    #expect(answer.word == "UNAUTHENTICATED")
    #expect(answer.reason == "authError")
  }
}
