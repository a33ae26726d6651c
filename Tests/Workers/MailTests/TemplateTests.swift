import FoundationEssentials
import JobEngine
import TestSupport
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

  // MARK: Variables of one's own

  private func directory(_ blocks: String, subject: String = "{plan} at {appName}") throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    let en = """
      {"language": "en", "templates": {"welcome": {"subject": "\(subject)", "blocks": [\(blocks)]}}}
      """
    let layout = try Data(contentsOf: URL(filePath: Shipped.config + "/templates/mail/layout.html"))
    try layout.write(to: URL(filePath: directory.path + "/layout.html"))
    try Data(en.utf8).write(to: URL(filePath: directory.path + "/en.json"))
    let declarations = "{ plan: { maxLength: 20 }, city: { maxLength: 20, default: 'A & B' }, note: { maxLength: 9 } }"
    try Data(declarations.utf8).write(to: URL(filePath: directory.path + "/variables.json5"))
    return directory
  }

  @Test func `Own variables are escaped in HTML, and stay one line in the subject`() throws {
    let directory = try self.directory(#"{"text": "{plan}, {city}"}, {"if": "note", "small": "{note}"}"#)
    defer { withExtendedLifetime(directory) {} }
    let templates = try MailTemplates(directory: directory.path, defaultLanguage: "en")
    let mail = try templates.render(
      "welcome", languageCode: nil, variables: ["appName": "X"], custom: ["plan": "<b>\"Gold\"</b>"])
    #expect(mail.subject == "<b>\"Gold\"</b> at X")
    #expect(mail.text == "<b>\"Gold\"</b>, A & B\n")
    #expect(mail.html?.contains("<bdi>&lt;b&gt;&quot;Gold&quot;&lt;/b&gt;</bdi>, <bdi>A &amp; B</bdi>") == true)
    #expect(mail.html?.contains("<b>") == false)
    for (custom, expected) in [
      ([:], "MISSING_VARIABLE: variables.custom.plan is missing; template 'welcome' needs it"),
      (["plan": "Gold\r\nBcc: eve@example.org"], "INVALID_VARIABLE: variables.custom.plan must be 1 to 20"),
      (["plan": "Gold", "link": "https://evil.example"], "UNKNOWN_VARIABLE: variables.custom.link is not declared"),
    ] as [([String: String], String)] {
      let problem = #expect(throws: TemplateProblem.self) {
        try templates.render("welcome", languageCode: nil, variables: ["appName": "X"], custom: custom)
      }
      #expect(problem?.description.hasPrefix(expected) == true, "\(String(describing: problem))")
    }
  }

  @Test func `Constants that no block names stop no mail, and one that decides about a block counts`() throws {
    let directory = try self.directory(#"{"text": "Hello"}, {"if": "note", "small": "Noted"}"#, subject: "{appName}")
    defer { withExtendedLifetime(directory) {} }
    let templates = try MailTemplates(directory: directory.path, defaultLanguage: "en")
    func text(_ custom: [String: String]) throws -> String {
      try templates.render("welcome", languageCode: nil, variables: ["appName": "X"], custom: custom).text
    }
    #expect(try text(["plna": "Gold", "plan": "see evil.example"]) == "Hello\n")
    #expect(try text(["note": "y"]) == "Hello\n\nNoted\n")
  }

  @Test func `Values that make a number together are refused in each block`() throws {
    let directory = try self.directory(#"{"text": "{plan} {city}"}, {"code": "{code}"}"#, subject: "{appName}")
    defer { withExtendedLifetime(directory) {} }
    let templates = try MailTemplates(directory: directory.path, defaultLanguage: "en")
    let problem = #expect(throws: TemplateProblem.self) {
      try templates.render(
        "welcome", languageCode: nil, variables: ["appName": "X", "code": "482913"],
        custom: ["plan": "482", "city": "913"])
    }
    #expect(problem?.code == .invalidVariable)
  }

  @Test func `The shipped files have nothing to fix`() throws {
    let directory = Shipped.config + "/templates/mail"
    #expect(MailTemplateLinter.isDirectory(directory))
    let report = try MailTemplateLinter.check(directory: directory)
    #expect(report.findings.map(\.description) == [])
    #expect(report.files == 10)
  }

  @Test(
    arguments: [
      (#"{"text": "{plam}"}"#, "welcome: blocks[0]: uses {plam} (did you mean {plan}?)"),
      (#"{"code": "{code}"}, {"text": "{code}"}"#, "welcome: contains {code} more than once"),
      (#"{"if": "plna", "text": "x"}"#, "welcome: blocks[0].if: uses {plna} (did you mean {plan}?)"),
    ])
  func `Findings of mail say file and place`(blocks: String, expected: String) throws {
    let directory = try self.directory(blocks)
    defer { withExtendedLifetime(directory) {} }
    let report = try MailTemplateLinter.check(directory: directory.path)
    #expect(report.findings.contains { $0.description.contains("en.json: \(expected)") }, "\(report.findings)")
  }

  @Test func `A language that lacks a variable is a finding`() throws {
    let directory = try self.directory(#"{"text": "{plan}"}"#)
    defer { withExtendedLifetime(directory) {} }
    let de = #"{"language": "de", "templates": {"welcome": {"subject": "{appName}", "blocks": [{"text": "Hallo"}]}}}"#
    try Data(de.utf8).write(to: URL(filePath: directory.path + "/de.json"))
    #expect(
      try MailTemplateLinter.check(directory: directory.path).findings.map(\.description) == [
        "de.json: welcome: does not contain {plan}, which other languages have"
      ])
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
    let problem = #expect(throws: TemplateProblem.self) {
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
