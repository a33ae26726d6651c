import CountersignEncoding
import HTTPServer
import Projects
import TestSupport
import Testing

@testable import Gateway

@Suite struct SignInAnswerTests {
  private let pages: SignInFixture

  init() throws { pages = try SignInFixture() }

  // MARK: Return

  @Test func `The script reads the answer from the address, query or fragment`() async throws {
    for query in [[], [(name: "code", value: "code-1"), (name: "state", value: "s")]] {
      let shown = try await pages.open(query, ofProject: false)
      #expect(shown.page.status == 200 && shown.value("page") == "answer" && shown.value("answer") == nil)
      #expect(!shown.html.contains("code-1"))
    }
  }

  @Test func `A form is given to the script, without what is no answer`() async throws {
    let form = "code=code-1&state=s%26%22&user=%7B%22name%22%3A%7B%7D%7D&id_token=t&x=y"
    let shown = try await pages.open(form: form, headers: ["Origin": "https://appleid.apple.com"], ofProject: false)
    #expect(shown.value("answer") == "code=code-1&state=s%26%22&id_token=t&user=%7B%22name%22%3A%7B%7D%7D")
  }

  // MARK: Check of an app

  @Test func `The check has the project's site key and leads to the app alone`() async throws {
    let shown = try await pages.open(SignInFixture.apple(["authType": "verifyApp", "sessionId": nil, "hl": "de"]))
    #expect(
      shown.page.status == 200 && shown.value("page") == "check" && shown.value("sitekey") == "site-key\"&gt;&lt;b&gt;")
    #expect(shown.context?["scheme"] == "app-1-100000000001-ios-aa" && shown.context?["authType"] == "verifyApp")
    #expect(shown.html.contains("<html lang=\"de\"") && shown.value("language") == "de")
    let policy = shown.page.policy
    #expect(policy.contains("script-src 'self' https://www.google.com/recaptcha/ https://www.gstatic.com/recaptcha/;"))
    #expect(policy.contains("frame-ancestors 'none'"))
    #expect(try await pages.open(SignInFixture.apple(["authType": "verifyApp", "ibi": "com.evil"])).context == nil)
  }

  @Test func `Without a site key the app is told`() async throws {
    var pages = pages
    pages.project.recaptcha = nil
    let shown = try await pages.open(SignInFixture.apple(["authType": "verifyApp"]))
    #expect(shown.value("page") == "failed" && shown.value("error") == "INTERNAL_ERROR")
  }

  // MARK: What a page may do

  @Test func `No page has an inline script, and nothing frames the handler`() async throws {
    pages.expectStart()
    for query in [SignInFixture.script(), SignInFixture.apple(), [], SignInFixture.script(["eventId": nil])] {
      let page = try await pages.open(query).page
      #expect(page.policy.contains("default-src 'none'") && page.policy.contains("frame-ancestors 'none'"))
      #expect(!page.policy.contains("unsafe") && !page.mayBeFramed)
      let html = String(decoding: page.html, as: UTF8.self)
      #expect(html.replacing("<script src=\"handler.js\"></script>", with: "").contains("<script") == false)
      #expect(!html.contains("onload") && !html.contains("javascript:"))
    }
  }

  @Test func `What somebody wrote into a link stays text`() async throws {
    pages.expectStart()
    let evil = "\"><script>alert('1')</script>&"
    for name in ["eventId", "appName", "apiKey", "hl", "v", "scopes"] {
      let html = try await pages.open(SignInFixture.script([name: evil])).html
      #expect(!html.contains("<script>") && !html.contains("alert('"), "\(name)")
    }
    let form = String(decoding: FormEncoding.encode([(name: "code", value: evil)]), as: UTF8.self)
    #expect(try await !pages.open(form: form).html.contains("<script>"))
  }

  @Test(arguments: [("ar-EG", "ar", "rtl"), ("fr", "fr", "ltr"), ("tlh", "en", "ltr")])
  func `A page is in the language of the browser`(asked: String, tag: String, direction: String) async throws {
    let html = try await pages.open(headers: ["Accept-Language": "\(asked);q=0.9, en"]).html
    #expect(html.contains("<html lang=\"\(tag)\" dir=\"\(direction)\">"))
  }

  // MARK: Frame

  @Test func `The frame stands in pages of the project alone`() async throws {
    var pages = pages
    pages.project.authorizedDomains = ["app.example.com", "localhost", "a.example;script-src *"]
    pages.project.apps.append(
      ProjectApp(id: "local", platform: .web, appID: "1:1:web:cc", origins: ["http://localhost:*"]))
    for path in ["/__/auth/iframe", "/emulator/auth/iframe"] {
      let page = try await pages.open(path: path).page
      #expect(page.mayBeFramed)
      #expect(
        page.policy
          == "default-src 'none'; script-src 'self' https://apis.google.com; form-action 'none'; base-uri 'none'; frame-ancestors http://localhost:* https://app.example.com:* https://example.firebaseapp.com:* https://localhost:* https://www.example.org"
      )
    }
    #expect(
      try await pages.open(path: "/__/auth/iframe", ofProject: false).page.policy.hasSuffix("frame-ancestors 'none'"))
  }

  @Test(arguments: ["handler.js", "iframe.js"])
  func `Scripts are files that browsers ask for again`(file: String) async throws {
    let route = try #require(pages.fixture.calls.routes.first { $0.paths.contains("/__/auth/\(file)") })
    #expect(route.paths.contains("/emulator/auth/\(file)"))
    let gateway = try GatewayBench { _, _ in [route] }
    let text = await RawRequest.send("GET /__/auth/\(file) HTTP/1.1\r\nHost: localhost\r\n\r\n", to: gateway.port)
    #expect(text.hasPrefix("HTTP/1.1 200") && text.contains("Content-Type: text/javascript; charset=utf-8"))
    #expect(text.contains("Cache-Control: no-cache") && text.contains("\"use strict\""))
  }

  @Test func `A failure before the page is a page, too`() async throws {
    let route = try #require(pages.fixture.calls.routes.first { $0.paths.contains("/__/auth/handler") })
    let gateway = try GatewayBench { _, _ in [route] }
    let query = "?" + String(repeating: "a=b&", count: 100)
    let text = await RawRequest.send(
      "GET /__/auth/handler\(query) HTTP/1.1\r\nHost: localhost\r\nAccept-Language: de\r\n\r\n", to: gateway.port)
    #expect(text.hasPrefix("HTTP/1.1 400") && text.contains("Content-Type: text/html"))
    #expect(text.contains("Das hat nicht geklappt") && text.contains("X-Frame-Options: DENY"))
  }
}
