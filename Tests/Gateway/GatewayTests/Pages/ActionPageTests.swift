import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPServer
import Synchronization
import Testing

@testable import Gateway

@Suite struct ActionPageTests {
  private let fixture: CallFixture
  private let asked = Asked()

  init() throws { fixture = try CallFixture() }

  /// Commands about codes that accounts got.
  private final class Asked: Sendable {
    let looks = Mutex(0)
    let passwords = Mutex<[String?]>([])
  }

  private func expectLink(
    _ purpose: MailLinkPurpose, email: String = "ada@example.com", newEmail: String? = nil,
    factor: SecondFactorView? = nil, weakest: Int = 0
  ) {
    fixture.services.on(ApplyMailLink.self) { [asked] command, message in
      let password = try message.open(ifAny: command.newPassword)
      if command.isLook == true {
        asked.looks.withLock { $0 += 1 }
      } else {
        asked.passwords.withLock { $0.append(password) }
      }
      var reply = MailLinkApplied(purpose: purpose, email: email)
      reply.newEmail = newEmail
      reply.secondFactor = factor
      return reply
    }
  }

  private var spent: [String?] { asked.passwords.withLock { $0 } }

  private struct Shown {
    let page: CallPage
    var html: String { String(decoding: page.html, as: UTF8.self) }
    var hasForm: Bool { html.contains("<form method=\"post\">") }
    var asksForPassword: Bool { html.contains("type=\"password\"") }
  }

  private func open(
    _ query: String = "mode=verifyEmail&oobCode=c&apiKey=fake-api-key&lang=en", form: String? = nil,
    headers: HTTPServerHeaders = [:], ofProject: Bool = true
  ) async throws -> Shown {
    Shown(
      page: try await fixture.page(
        "/__/auth/action", query: Array(query.utf8), form: form, headers: headers,
        project: ofProject ? fixture.project : nil))
  }

  // MARK: Looking

  @Test(arguments: [
    MailLinkPurpose.verifyAddress, .changeAddress, .recoverAddress, .revertSecondFactor, .resetPassword,
  ])
  func `Opening a link shows what it does, and spends nothing`(purpose: MailLinkPurpose) async throws {
    expectLink(purpose, newEmail: [.changeAddress, .recoverAddress].contains(purpose) ? "bo@example.com" : nil)
    for _ in 0..<10 {
      let shown = try await open()
      #expect(shown.page.status == 200 && shown.hasForm && !shown.html.contains("<script"))
      #expect(shown.html.contains("bo@example.com") == (purpose == .changeAddress))
      #expect(shown.html.contains("ada@example.com") == (purpose != .changeAddress))
      #expect(shown.asksForPassword == (purpose == .resetPassword))
    }
    #expect(spent.isEmpty)
  }

  @Test func `The page may load its style alone, and stands in no frame`() async throws {
    expectLink(.verifyAddress)
    let policy = try await open().page.policy
    for part in ["default-src 'none'", "style-src 'sha256-", "form-action 'self'", "frame-ancestors 'none'"] {
      #expect(policy.contains(part))
    }
    #expect(!policy.contains("unsafe"))
  }

  @Test func `What somebody wrote into a link stays text`() async throws {
    expectLink(.verifyAddress, email: "\"><script>alert('1')</script>&@example.com")
    let script = "%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E"
    for name in ["mode", "oobCode", "lang", "continueUrl", "apiKey"] {
      for value in [script, "https%3A%2F%2Fevil.example%2F", "javascript%3Aalert(1)"] {
        let html = try await open("oobCode=c&apiKey=fake-api-key&\(name)=\(value)").html
        #expect(!html.contains("<script") && !html.contains("href="), "\(name) \(value)")
      }
    }
    #expect(try await open().html.contains("&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;@"))
  }

  @Test(arguments: [("de", "de", "ltr"), ("pt_AO", "pt-PT", "ltr"), ("ar-EG", "ar", "rtl"), ("tlh", "en", "ltr")])
  func `The page is in the language of the link`(asked: String, tag: String, direction: String) async throws {
    expectLink(.verifyAddress)
    let html = try await open("oobCode=c&lang=\(asked)").html
    #expect(html.contains("<html lang=\"\(tag)\" dir=\"\(direction)\">"))
    #expect(html.contains("<p><bdi>ada@example.com</bdi></p>"))
  }

  @Test func `A link without a language has that of the browser`() async throws {
    expectLink(.verifyAddress)
    let html = try await open("oobCode=c", headers: ["Accept-Language": "ja;q=0.9, en"]).html
    #expect(html.contains("<html lang=\"ja\""))
  }

  @Test func `A link that signs in leads to the app's page, with its code`() async throws {
    expectLink(.signIn)
    let page = "https%3A%2F%2Fexample.firebaseapp.com%2Fdone%3Fa%3Db%23top"
    let shown = try await open("mode=signIn&oobCode=c%26d&apiKey=k&lang=en&continueUrl=\(page)")
    #expect(!shown.hasForm && !shown.html.contains("ada@example.com"))
    let query = "mode=signIn&amp;oobCode=c%26d&amp;apiKey=k&amp;lang=en&amp;a=b"
    #expect(shown.html.contains("href=\"https://example.firebaseapp.com/done?\(query)#top\""))
    #expect(try await open(form: "").hasForm == false)
    #expect(spent.isEmpty)
  }

  @Test(arguments: [("+*******0100", "<b>Ada's</b>"), (nil, "<b>Ada's</b>"), (nil, nil)] as [(String?, String?)])
  func `A new second factor is shown, and its removal tells to choose a new password`(
    number: String?, name: String?
  ) async throws {
    let kind: SecondFactorKind = number == nil ? .totp : .phone
    var factor = SecondFactorView(enrollmentID: "e", kind: kind, enrolledAt: UnixTime(seconds: 0))
    (factor.phoneNumber, factor.displayName) = (number, name)
    expectLink(.revertSecondFactor, factor: factor)
    let shown = try await open()
    #expect(shown.html.contains("<h1>Take the second sign-in step back</h1>") && spent.isEmpty)
    #expect(shown.html.contains("<bdi>+*******0100</bdi>") == (number != nil))
    #expect(shown.html.contains("<bdi>&lt;b&gt;Ada&#39;s&lt;/b&gt;</bdi>") == (number == nil && name != nil))
    let done = try await open(form: "")
    #expect(done.page.status == 200 && !done.hasForm && spent == [nil])
    #expect(done.html.contains("all devices are signed out") && done.html.contains("choose a new one"))
  }

  // MARK: Spending

  @Test func `The button spends the code, and leads on to a page of the project alone`() async throws {
    expectLink(.verifyAddress)
    let query = "oobCode=c&apiKey=fake-api-key&continueUrl="
    let done = try await open(query + "http%3A%2F%2Flocalhost%3A5000%2Fdone%3Fa%3D1%26b", form: "")
    #expect(done.page.status == 200 && !done.hasForm)
    #expect(done.html.contains("href=\"http://localhost:5000/done?a=1&amp;b\""))
    for page in [
      "https://evil.example/", "javascript:alert(1)", "https://localhost@evil.example/", "//evil.example/",
      "https://localhost.evil.example/", "http://example.firebaseapp.com/",
    ] {
      let escaped = PercentEncoding.encode(page)
      #expect(try await !open(query + escaped, form: "").html.contains("href="), "\(page)")
    }
    #expect(spent == Array(repeating: nil, count: 7))
  }

  @Test func `A new password is taken, and a weak one asked for again`() async throws {
    expectLink(.resetPassword)
    let opened = try await open()
    #expect(opened.asksForPassword && !opened.html.contains(" aria-"))
    let empty = try await open(form: "newPassword=")
    #expect(empty.page.status == 400 && empty.asksForPassword && empty.html.contains("at least 6 characters"))
    #expect(empty.html.contains("<p id=\"wrong\">This password"))
    #expect(empty.html.contains("aria-invalid=\"true\" aria-describedby=\"wrong\""))
    #expect(spent.isEmpty)
    let done = try await open(form: "newPassword=battery+staple")
    #expect(done.page.status == 200 && !done.hasForm && spent == ["battery staple"])
    #expect(!done.html.contains("battery"))
  }

  @Test(arguments: [
    (APIError(.invalidOobCode, "x"), 400), (APIError(.expiredOobCode, "x"), 400), (APIError(.emailExists, "x"), 400),
    (APIError(.internalError, "x", retryAfter: 1), 503),
  ])
  func `A link that does not work says so, and no more`(error: APIError, status: Int) async throws {
    fixture.services.refuse(ApplyMailLink.self, error)
    for form in [nil, ""] {
      let shown = try await open(form: form)
      #expect(shown.page.status == status && !shown.hasForm && !shown.html.contains(error.code.rawValue))
    }
  }

  @Test func `A link without a code or a project is none`() async throws {
    expectLink(.verifyAddress)
    #expect(try await open("apiKey=fake-api-key").page.status == 400)
    #expect(try await open(ofProject: false).hasForm == false)
    #expect(fixture.services.messages.isEmpty)
  }
}
