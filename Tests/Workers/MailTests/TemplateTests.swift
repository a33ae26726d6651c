import Testing

@testable import Mail

@Suite struct TemplateTests {
  private static let variables = [
    "code": "123456", "link": "https://example.com/l?a=1&b=2", "appName": "Tom & <Jerry>",
    "change": "The address is now \"x\".", "secondFactor": "+*******0100",
  ]

  @Test(arguments: ["ar", "bn", "de", "en", "es", "fr", "hi", "ja", "pt-BR", "pt-PT"])
  func `Every language has every template`(language: String) throws {
    let templates = try Shipped.templates()
    #expect(templates.languageTags.contains(language))
    #expect(
      templates.names == [
        "address-change", "address-recovery", "address-verification", "password-reset", "revocation-notice",
        "second-factor-reversal", "security-notice", "sign-in-link",
      ])
    for name in templates.names {
      let mail = try templates.render(name, languageCode: language, variables: Self.variables)
      let html = try #require(mail.html)
      #expect(mail.subject.contains("Tom & <Jerry>"))
      #expect(mail.text.contains("https://example.com/l?a=1&b=2"))
      #expect(html.contains("lang=\"\(language)\"") && html.contains(language == "ar" ? "dir=\"rtl\"" : "dir=\"ltr\""))
      #expect(html.contains("href=\"https://example.com/l?a=1&amp;b=2\""))
      #expect(html.contains("Tom &amp; &lt;Jerry&gt;") && !html.contains("<Jerry>"))
      #expect(!mail.text.contains("{") && !html.contains("{"))
    }
  }

  @Test func `A code stands alone without marks`() throws {
    for language in ["en", "ar"] {
      let mail = try Shipped.templates().render(
        "address-verification", languageCode: language, variables: ["code": "123456", "appName": "A"])
      #expect(mail.text.contains("\n    123456\n"))
      #expect(mail.html?.contains("href") == false)
    }
  }

  @Test(
    arguments: [
      ("pt", "pt-BR"), ("pt-AO", "pt-PT"), ("de-CH", "de"), ("zh-Hant", "en"), ("??", "en"), (nil, "en"),
    ] as [(String?, String)])
  func `Templates are chosen by language`(asked: String?, given: String) throws {
    let mail = try Shipped.templates().render("sign-in-link", languageCode: asked, variables: Self.variables)
    #expect(mail.html?.contains("lang=\"\(given)\"") == true)
  }

  @Test(
    arguments: [
      ("nothing", [:], "UNKNOWN_TEMPLATE"), ("sign-in-link", ["appName": "A"], "MISSING_VARIABLE"),
      ("address-verification", ["appName": "A"], "MISSING_VARIABLE"),
      ("sign-in-link", ["appName": "A", "link": "javascript:x"], "INVALID_VARIABLE"),
      ("sign-in-link", ["appName": "A\nB", "link": "https://example.com"], "INVALID_VARIABLE"),
      ("address-verification", ["appName": "A", "code": "<b>"], "INVALID_VARIABLE"),
      ("security-notice", ["appName": "A", "change": "x\u{202E}y"], "INVALID_VARIABLE"),
      (
        "second-factor-reversal",
        ["appName": "A", "link": "https://example.com", "secondFactor": String(repeating: "x", count: 65)],
        "INVALID_VARIABLE"
      ),
    ] as [(String, [String: String], String)])
  func `Problems of templates are reported`(name: String, variables: [String: String], code: String) throws {
    let templates = try Shipped.templates()
    let problem = #expect(throws: MailTemplateProblem.self) {
      try templates.render(name, languageCode: nil, variables: variables)
    }
    #expect(problem?.code.rawValue == code)
    for value in variables.values where value != "A" { #expect(problem?.detail.contains(value) == false) }
  }

  @Test func `Parts without their variable are left out`() throws {
    let templates = try Shipped.templates()
    let short = try templates.render("revocation-notice", languageCode: "en", variables: ["appName": "A"])
    #expect(!short.text.contains("Contact us"))
    let long = try templates.render("revocation-notice", languageCode: "en", variables: Self.variables)
    #expect(long.text.contains("Contact us:\nhttps://example.com/l?a=1&b=2"))
    let link = ["appName": "A", "link": "https://example.com/l"]
    let nameless = try templates.render("second-factor-reversal", languageCode: "en", variables: link)
    #expect(nameless.text.contains("second step") && !nameless.text.contains("It is shown as"))
    let named = try templates.render("second-factor-reversal", languageCode: "en", variables: Self.variables)
    #expect(named.text.contains("It is shown as: +*******0100"))
  }
}
