import CountersignEncoding
import CountersignMessages
import TestSupport
import Testing

@testable import Gateway

@Suite struct SignInPageTests {
  private let pages: SignInFixture

  init() throws { pages = try SignInFixture() }

  // MARK: Begin

  @Test(arguments: ["/__/auth/handler", "/emulator/auth/handler"])
  func `A popup is led to the provider, which returns to one address`(path: String) async throws {
    pages.expectStart { command, request in
      #expect(command.project == "example" && command.providerID == "google.com" && command.app == nil)
      #expect(command.redirectURI == "https://auth.example.com/__/auth/handler")
      #expect(command.client?.ip == "192.0.2.1")
      #expect(request.sessionHash.utf8.count == 64)
      #expect(request.scopes == ["email", "profile"] && request.parameters == ["login_hint": "ada@example.com"])
    }
    let query = SignInFixture.script([
      "scopes": "email,profile", "customParameters": #"{"login_hint":"ada@example.com"}"#,
    ])
    let shown = try await pages.open(query, path: path)
    #expect(shown.page.status == 200 && shown.value("page") == "start")
    #expect(shown.value("address") == SignInFixture.authURI)
    let context = try #require(shown.context)
    #expect(context["authType"] == "signInViaPopup" && context["eventId"] == "uid-1:::0123456789")
    #expect(context["apiKey"] == "fake-api-key" && context["appName"] == "[DEFAULT]")
    #expect(context.names == ["authType", "eventId", "apiKey", "appName", "sessionId"])
  }

  @Test func `The session ID of a flow is new each time, and accounts gets its hash alone`() async throws {
    pages.expectStart()
    var sessions: Set<String> = []
    for _ in 0..<2 {
      let session = try #require(try await pages.open(SignInFixture.script()).context?["sessionId"]?.text)
      sessions.insert(session)
    }
    #expect(sessions.count == 2)
    pages.fixture.requireSealed(Array(sessions))
  }

  @Test(arguments: ["signInViaRedirect", "linkViaRedirect", "reauthViaRedirect"])
  func `A redirect returns to the page that began it, to the letter`(type: String) async throws {
    pages.expectStart()
    let context = try await pages.open(SignInFixture.script(["authType": type])).context
    #expect(context?["redirectUrl"] == "https://app.example.com/login?a={1}#b|c" && context?["authType"]?.text == type)
  }

  @Test func `An app gets its answer by its URL scheme, and brings the session itself`() async throws {
    pages.expectStart { command, request in
      #expect(command.app == "com.example.push" && command.providerID == "oidc.example")
      #expect(request.sessionHash == SignInFixture.hash)
    }
    let context = try await pages.open(SignInFixture.apple()).context
    #expect(context?["scheme"] == "app-1-100000000001-ios-aa" && context?["eventId"] == "ABCDEFGHIJ")
    #expect(context?.names == ["authType", "eventId", "scheme"])
    let upper = SignInFixture.apple(["clientId": SignInFixture.clientID, "sessionId": SignInFixture.hash.uppercased()])
    #expect(try await pages.open(upper).context?["scheme"] == "com.googleusercontent.apps.100000000001-ios")
  }

  // MARK: Targets

  @Test(
    arguments: [
      "https://evil.example/", "https://app.example.com.evil.example/", "https://app.example.com@evil.example/",
      "https://evil.example\\@app.example.com/", "http://app.example.com/", "javascript:alert(1)//app.example.com",
      "//app.example.com/", "data:text/html,x", "", "https://app.example.com/\u{E9}", "http://localhost:5000/",
      "https://app.example.com/" + String(repeating: "a", count: 2_048),
    ])
  func `A page that is not the project's is no target`(page: String) async throws {
    pages.expectStart()
    for type in ["signInViaPopup", "signInViaRedirect"] {
      let shown = try await pages.open(SignInFixture.script(["redirectUrl": page, "authType": type]))
      #expect(shown.page.status == 400 && shown.context == nil && shown.html.contains("Only an app can open this page"))
      #expect(!shown.html.contains("<script"))
    }
    #expect(pages.fixture.services.messages.isEmpty)
  }

  @Test func `Registered origins are targets, and in development pages of this machine`() async throws {
    pages.expectStart { command, _ in #expect(command.app == "example-web") }
    let origin = SignInFixture.script(["redirectUrl": "https://www.example.org/a"])
    #expect(try await pages.open(origin).value("page") == "start")
    let development = try SignInFixture(isDevelopment: true)
    development.expectStart { command, _ in
      #expect(command.redirectURI == "http://localhost:9099/__/auth/handler")
    }
    let local = SignInFixture.script(["redirectUrl": "http://localhost:5000/"])
    #expect(try await development.open(local, host: "localhost:9099").value("page") == "start")
  }

  @Test(
    arguments: [
      ["ibi": "com.evil.app"], ["ibi": "example-web"], ["ibi": nil], ["appId": "1:100000000001:ios:zz"],
      ["appId": nil], ["clientId": "other.apps.googleusercontent.com"], ["clientId": "javascript"],
      ["sessionId": nil], ["sessionId": "raw"], ["sessionId": String(repeating: "g", count: 64)],
      ["eventId": nil], ["eventId": "a\u{1}"], ["eventId": String(repeating: "a", count: 257)],
      ["authType": "signInWithPopup"],
    ] as [[String: String?]])
  func `An app that is not the project's is no target, nor is one without session and event`(
    changes: [String: String?]
  ) async throws {
    pages.expectStart()
    let shown = try await pages.open(SignInFixture.apple(changes))
    #expect(shown.page.status == 400 && shown.context == nil && !shown.html.contains("<script"))
    #expect(pages.fixture.services.messages.isEmpty)
  }

  @Test(
    arguments: [
      ["appName": nil], ["apiKey": nil], ["eventId": nil], ["appName": String(repeating: "a", count: 257)],
      ["authType": "unknown"], ["authType": "<script>"],
    ] as [[String: String?]])
  func `What the JavaScript SDK always sends has to be there`(changes: [String: String?]) async throws {
    pages.expectStart()
    let shown = try await pages.open(SignInFixture.script(changes))
    #expect(shown.page.status == 400 && shown.context == nil)
    #expect(pages.fixture.services.messages.isEmpty)
  }

  @Test(arguments: ["evil.example", "auth.example.com/x", "auth.example.com@evil.example", "a b", "", "localhost:9099"])
  func `A provider returns to a host of the project alone`(host: String) async throws {
    pages.expectStart()
    #expect(try await pages.open(SignInFixture.script(), host: host).context == nil)
    #expect(pages.fixture.services.messages.isEmpty)
  }

  @Test func `Without a project there is nothing`() async throws {
    let shown = try await pages.open(SignInFixture.script(), ofProject: false)
    #expect(shown.page.status == 404 && shown.context == nil)
  }

  // MARK: Refusals

  @Test(
    arguments: [
      (APIError(.operationNotAllowed, "x", field: "project", reason: "METHOD_OFF"), "OPERATION_NOT_ALLOWED", 400),
      (APIError(.invalidIDPResponse, "x"), "INVALID_IDP_RESPONSE", 400),
      (APIError(.internalError, "x", retryAfter: 5), "NETWORK_REQUEST_FAILED", 503),
      (APIError(.internalError, "x"), "INTERNAL_ERROR", 500),
    ])
  func `A refusal is told to the SDK and to the user`(refusal: APIError, code: String, status: Int) async throws {
    pages.fixture.services.refuse(StartIDPSignIn.self, refusal)
    for query in [SignInFixture.script(), SignInFixture.apple()] {
      let shown = try await pages.open(query)
      #expect(shown.page.status == status && shown.value("page") == "failed" && shown.value("error") == code)
      #expect(shown.context != nil && shown.value("address") == nil)
      #expect(shown.html.contains("That did not work"))
    }
  }

  @Test(arguments: ["facebook.com", "twitter.com", "password", "phone"])
  func `A provider that is off is not asked for`(provider: String) async throws {
    let shown = try await pages.open(SignInFixture.script(["providerId": provider]))
    #expect(shown.value("error") == "OPERATION_NOT_ALLOWED" && shown.html.contains("switched off"))
    #expect(pages.fixture.services.messages.isEmpty)
  }

  @Test(
    arguments: [
      ["customParameters": "x"], ["customParameters": "[]"], ["customParameters": #"{"a":{"b":1}}"#],
      ["customParameters": #"{"a":"\u0000"}"#], ["scopes": "a\"b"], ["scopes": String(repeating: "a,", count: 33)],
    ] as [[String: String?]])
  func `Parameters and scopes that no provider takes are refused`(changes: [String: String?]) async throws {
    pages.expectStart()
    #expect(try await pages.open(SignInFixture.script(changes)).value("page") == "failed")
    #expect(pages.fixture.services.messages.isEmpty)
  }

  @Test func `Reserved parameters change nothing in the address that accounts has made`() async throws {
    pages.expectStart { command, _ in #expect(command.redirectURI == "https://auth.example.com/__/auth/handler") }
    for name in ["client_id", "redirect_uri", "state", "nonce", "scope", "response_type", "response_mode"] {
      let query = SignInFixture.script([name: "evil", "customParameters": #"{"\#(name)":"evil"}"#])
      let shown = try await pages.open(query)
      #expect(shown.value("address") == SignInFixture.authURI && !shown.html.contains("evil"))
    }
  }
}
