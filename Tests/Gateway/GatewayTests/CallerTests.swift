import CountersignEncoding
import HTTPClient
import Projects
import Testing

@testable import Gateway

@Suite struct CallerTests {
  @Test func `Without a key it is 403, with an unknown one 400`() async throws {
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

  @Test func `The key may come in a header`() async throws {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(
      GatewayBench.signUp, "{}", key: nil, headers: [("X-Goog-Api-Key", GatewayBench.apiKey)])
    #expect(answer["project"] == .text("example"))
  }

  @Test func `The key is looked at before the body`() async throws {
    let gateway = try GatewayBench.echo()
    #expect(try await gateway.post(GatewayBench.signUp, "x", key: nil).isError(403))
  }

  @Test(
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
    ]) func `The app is the one that the request names, else the first web app`(
      headers: [(String, String)], app: String
    ) async throws
  {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(
      GatewayBench.signUp, "{}", headers: headers.map { (name: $0.0, value: $0.1) })
    #expect(answer["app"] == .text(app))
  }

  @Test(
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
    ]) func `An app that is not the project's is refused, and a page of another origin`(headers: [(String, String)])
    async throws
  {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(
      GatewayBench.signUp, "{}", headers: headers.map { (name: $0.0, value: $0.1) })
    #expect(answer.isError(403))
    #expect(answer.reason == "ipRefererBlocked")
    #expect(answer.text.contains("evil") == false)
  }

  @Test(arguments: ["null", "file://"])
  func `A page without an origin is told so`(origin: String) async throws {
    for isDevelopment in [false, true] {
      let gateway = try GatewayBench.echo(isDevelopment: isDevelopment)
      let answer = try await gateway.post(GatewayBench.signUp, "{}", headers: [("Origin", origin)])
      #expect(answer.isError(403) && answer.reason == "ipRefererBlocked")
      #expect(answer.message?.contains("it has no origin") == true)
      // The page reads why.
      #expect(answer.headers["Access-Control-Allow-Origin"] == origin)
    }
  }

  @Test func `In development pages of this machine are accepted`() async throws {
    let gateway = try GatewayBench.echo(isDevelopment: true)
    let answer = try await gateway.post(
      GatewayBench.signUp, "{}", headers: [("Origin", "http://127.0.0.1:5173")])
    #expect(answer["app"] == .text("example-web"))
  }

  @Test func `A project without a web app has no app by default`() async throws {
    var project = GatewayBench.project
    project.apps.removeAll { $0.platform == .web }
    let gateway = try GatewayBench.echo(project: project)
    let answer = try await gateway.post(GatewayBench.signUp, "{}")
    #expect(answer.status == 200)
    #expect(answer["app"] == nil)
  }

  @Test(
    arguments: [("pt-BR", "pt-BR"), ("pt_BR", "pt-BR"), ("de", "de"), ("x", nil), ("de;q=1", nil), ("", nil)])
  func `The language is a tag, else absent`(header: String, locale: String?) async throws {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(GatewayBench.signUp, "{}", headers: [("X-Firebase-Locale", header)])
    #expect(answer["locale"] == locale.map { .text($0) })
  }

  @Test func `The instance names app or origin, and the user agent, and is bounded`() async throws {
    let gateway = try GatewayBench.echo()
    let agent = String(repeating: "é", count: 2_000)
    let answer = try await gateway.post(
      GatewayBench.signUp, "{}",
      headers: [("X-Ios-Bundle-Identifier", "com.example.app"), ("User-Agent", agent)])
    let instance = try #require(answer["instance"]?.text)
    #expect(instance.hasPrefix("com.example.app é"))
    #expect(instance.utf8.count <= 512)
  }

  @Test func `Only administrators name another project`() async throws {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(GatewayBench.signUp, #"{"targetProjectId": "example"}"#)
    #expect(answer.isError(400))
    #expect(answer.message?.hasPrefix("INSUFFICIENT_PERMISSION : ") == true)
  }

  @Test(arguments: ["Bearer owner", "bearer x", "BEARER"]) func `A bearer is not valid`(value: String)
    async throws
  {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(GatewayBench.signUp, "{}", headers: [("Authorization", value)])
    #expect(answer.isError(401))
    #expect(answer.word == "UNAUTHENTICATED")
    #expect(answer.reason == "authError")
  }
}
