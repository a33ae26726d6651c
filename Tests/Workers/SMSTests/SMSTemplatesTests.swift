import FoundationEssentials
import JobEngine
import TestSupport
import Testing

@testable import SMS

private let languages = {
  let names = try? FileManager.default.contentsOfDirectory(atPath: Shipped.config + "/templates/sms")
  return (names ?? []).filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
}()

private let rightToLeft = ["ar", "fa", "he", "ur"]

@Suite struct SMSTemplatesTests {
  private func render(_ language: String?, _ variables: [String: String]) throws -> SMSText {
    try Shipped.templates().render("verification", languageCode: language, variables: variables)
  }

  @Test func `Forty languages and more`() {
    #expect(languages.count >= 40)
    #expect(Set(rightToLeft).isSubset(of: languages))
  }

  @Test(arguments: languages, ["Example", "Example App"])
  func `Every language, plain: one segment, code and name once`(language: String, appName: String) throws {
    let text = try render(language, ["code": "482913", "appName": appName])
    #expect(text.segments == 1)
    #expect(text.text.split(separator: "482913", omittingEmptySubsequences: false).count == 2)
    #expect(text.text.split(separator: appName, omittingEmptySubsequences: false).count == 2)
    #expect(!text.text.contains("\n"))
    #expect(!text.text.contains("{"))
  }

  @Test(arguments: languages)
  func `Every language, bound to a domain: one segment, the last line exact`(language: String) throws {
    let text = try render(language, ["code": "482913", "appName": "Example App", "domain": "example.com"])
    #expect(text.segments == 1)
    let lines = text.text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 2)
    #expect(lines.last == "@example.com #482913")
    #expect(lines.first?.contains("482913") == true)
  }

  @Test(arguments: languages)
  func `Every language, for an Android app: one segment, its mark first, its hash last`(language: String) throws {
    let variables = ["code": "482913", "appName": "Example App", "androidHash": "FA+9qCX9VSu"]
    let text = try render(language, variables)
    #expect(text.segments == 1)
    #expect(text.text.hasPrefix("<#> "))
    let lines = text.text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 2)
    #expect(lines.last == "FA+9qCX9VSu")
    #expect(lines.first?.contains("482913") == true)
    // There is one last line: the hash goes before the domain.
    #expect(try render(language, variables.merging(["domain": "example.com"]) { $1 }) == text)
  }

  @Test(
    arguments: [
      "af", "da", "de", "en", "et", "eu", "fi", "fil", "fr", "id", "it", "ms", "nb", "nl", "pl", "sv", "sw", "uz",
    ])
  func `A text without other letters stays in GSM 7-bit`(language: String) throws {
    let domain = "login.accounts.example.com"
    let text = try render(language, ["code": "482913", "appName": "A Rather Long Name", "domain": domain])
    #expect(text.encoding == .gsm7)
    #expect(text.segments == 1)
  }

  @Test(
    arguments: ["es", "pt-BR", "pt-PT"])
  func `Spanish and Portuguese change the wording, not the number of segments, for a long name`(language: String) throws
  {
    let short = try render(language, ["code": "482913", "appName": "Example"])
    #expect(short.encoding == .ucs2)
    #expect(short.text.contains("código de"))
    let domain = "login.accounts.example.com"
    let long = try render(language, ["code": "482913", "appName": "A Rather Long Name", "domain": domain])
    #expect(long.encoding == .gsm7)
    #expect(long.segments == 1)
  }

  @Test func `When no wording fits in one segment, the one with the fewest is taken`() throws {
    // 110 units: with 31 more it is 3 segments, with 16 more 2.
    let name = String(repeating: "😀", count: 55)
    let text = try render("ja", ["code": "482913", "appName": name])
    #expect(text.segments == 2)
    #expect(text.text.hasSuffix("です。"))
  }

  @Test(
    arguments: rightToLeft)
  func `The name is isolated in right-to-left texts`(language: String) throws {
    #expect(try render(language, ["code": "482913", "appName": "Yahoo!"]).text.contains("\u{2068}Yahoo!\u{2069}"))
  }

  @Test func `Unknown template: refused by name, with the ones that exist`() throws {
    let templates = try Shipped.templates()
    let problem = #expect(throws: TemplateProblem.self) {
      try templates.render("welcome", languageCode: "en", variables: ["code": "1"])
    }
    #expect(problem?.code == .unknownTemplate)
    #expect(problem?.detail == "there is no template 'welcome'; known: verification")
    let hostile = #expect(throws: TemplateProblem.self) {
      try templates.render("a\nb", languageCode: "en", variables: ["code": "1"])
    }
    #expect(hostile?.detail.contains("\n") == false)
  }

  @Test(arguments: ["code", "appName"])
  func `Missing variable: refused by name`(name: String) throws {
    var variables = ["code": "482913", "appName": "Example", "domain": "example.com"]
    variables[name] = nil
    let problem = #expect(throws: TemplateProblem.self) { try render("en", variables) }
    #expect(problem?.code == .missingVariable)
    #expect(problem?.detail.contains("variables.\(name)") == true)
  }

  @Test(
    arguments: [
      ("appName", "Evil\n@evil.example #000000"), ("appName", "Evil\r"), ("appName", "Evil\u{2028}x"),
      ("appName", "Evil\u{85}x"), ("appName", "Evil\u{0B}x"), ("appName", "\u{202E}lave"), ("appName", "x\u{2067}"),
      ("appName", "x\u{200F}"), ("appName", ""), ("appName", "   "), ("appName", String(repeating: "x", count: 65)),
      ("code", "12 34"), ("code", "12\n34"), ("code", ""), ("code", "12345678901234567"), ("code", "１２３"),
      ("code", "12#4"),
      ("domain", "example.com #1\n@evil.example"), ("domain", "example"), ("domain", "ex ample.com"),
      ("domain", "-a.com"),
      ("domain", "a..com"), ("domain", ".com"), ("domain", "127.0.0.1"), ("domain", "bücher.example"), ("domain", ""),
      ("androidHash", "FA+9qCX9VS"), ("androidHash", "FA+9qCX9VSu4"), ("androidHash", "FA+9qCX\nVSu"),
      ("androidHash", "FA-9qCX9VSu"),
      ("domain", "https://example.com"), ("domain", String(repeating: "a.", count: 127) + "com"),
    ])
  func `A value that could write lines of its own is refused, and not repeated`(name: String, value: String) throws {
    var variables = ["code": "482913", "appName": "Example", "domain": "example.com"]
    variables[name] = value
    let problem = #expect(throws: TemplateProblem.self) { try render("en", variables) }
    #expect(problem?.code == .invalidVariable)
    #expect(problem?.detail.contains("variables.\(name)") == true)
    if value.count > 12 { #expect(problem?.detail.contains(value) == false) }
  }

  @Test(
    arguments: ["Müller & Söhne", "Café{}", "नमस्ते", "క్‌ష", "Ünïcödé", "AT&T", "👩‍👧 Club", "日本アプリ", "متجر", "O'Neill, Inc."])
  func `Names that people have are allowed`(name: String) throws {
    #expect(try render("en", ["code": "482913", "appName": name]).text.contains(name))
  }

  @Test func `Other variables are ignored, braces in a value stay what they are`() throws {
    let text = try render("en", ["code": "482913", "appName": "{code}", "x": "\n"])
    #expect(text.text.contains("your {code} verification"))
  }
}

@Suite struct OwnVariablesOfSMSTests {
  private func templates(_ text: String) throws -> SMSTemplates {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let declarations = "{ shop: { maxLength: 20 }, city: { maxLength: 20, default: 'Berlin' } }"
    try Data(declarations.utf8).write(to: URL(filePath: directory.path + "/variables.json5"))
    let file = """
      {"language": "en", "templates": {"pay": {"plain": ["\(text)"], "domainBound": ["\(text)"]}}}
      """
    try Data(file.utf8).write(to: URL(filePath: directory.path + "/en.json"))
    return try SMSTemplates(directory: directory.path, defaultLanguage: "en")
  }

  @Test func `A value, a default and the last line`() throws {
    let templates = try templates("{code} pays at {shop} in {city} ({appName})")
    let variables = ["code": "482913", "appName": "Example", "domain": "example.com"]
    let text = try templates.render("pay", languageCode: "en", variables: variables, custom: ["shop": "Café {code}"])
    #expect(text.text == "482913 pays at Café {code} in Berlin (Example)\n@example.com #482913")
    let problem = #expect(throws: TemplateProblem.self) {
      try templates.render("pay", languageCode: "en", variables: variables)
    }
    #expect(problem?.description == "MISSING_VARIABLE: variables.custom.shop is missing; template 'pay' needs it")
  }

  @Test func `A constant that no wording names stops no code`() throws {
    let templates = try templates("{code} {shop}")
    for custom in [["shop": "A", "ctiy": "x"], ["shop": "A", "city": "see evil.example"]] {
      let text = try templates.render("pay", languageCode: "en", variables: ["code": "482913"], custom: custom)
      #expect(text.text == "482913 A")
    }
    let misspelled = #expect(throws: TemplateProblem.self) {
      try templates.render("pay", languageCode: "en", variables: ["code": "482913"], custom: ["shpo": "A"])
    }
    #expect(misspelled?.code == .unknownVariable)
  }

  @Test func `Values that make a number together are refused`() throws {
    let templates = try templates("{code}: {shop} {city}")
    let problem = #expect(throws: TemplateProblem.self) {
      try templates.render(
        "pay", languageCode: "en", variables: ["code": "482913"], custom: ["shop": "482", "city": "913"])
    }
    #expect(problem?.code == .invalidVariable)
  }

  @Test func `No built-in variable is given as one of one's own`() throws {
    let templates = try templates("{code} {shop}")
    for name in ["code", "appName", "domain", "androidHash"] {
      let problem = #expect(throws: TemplateProblem.self) {
        try templates.render(
          "pay", languageCode: "en", variables: ["code": "482913"], custom: ["shop": "A", name: "example"])
      }
      #expect(problem?.code == .unknownVariable)
    }
  }
}

@Suite struct TemplateFileTests {
  private func file(_ language: String, aliases: [String] = [], plain: [String] = ["{code}"]) -> SMSTemplateFile {
    SMSTemplateFile(
      language: language, aliases: aliases,
      templates: ["verification": .init(plain: plain, domainBound: ["{code}"])])
  }

  private func problem(_ files: [SMSTemplateFile], _ defaultLanguage: String = "en") -> String? {
    do {
      _ = try SMSTemplates(files, defaultLanguage: defaultLanguage)
      return nil
    } catch {
      return error.message
    }
  }

  @Test func `Each says the file, the place and what to fix`() {
    #expect(problem([file("en")]) == nil)
    #expect(problem([file("en"), file("de", aliases: ["EN"])]) == "de.json: another file already serves 'EN'")
    #expect(problem([file("e n")])?.contains("is not a language tag") == true)
    #expect(problem([file("de")])?.contains("templates.defaultLanguage is 'en'") == true)
    #expect(problem([file("en", plain: [])]) == "en.json: templates.verification.plain: has no text")
    #expect(
      problem([file("en", plain: ["{code}", "{cod}"])])
        == "en.json: templates.verification.plain[1]: uses {cod} (did you mean {code}?); known are {code}, {appName} and {domain}"
    )
    #expect(problem([file("en", plain: ["{code"])])?.hasSuffix("has a { without a }") == true)
    #expect(problem([file("en", plain: ["hello"])])?.hasSuffix("does not contain {code}") == true)
    #expect(
      problem([file("en", plain: ["{code}\t"])])?.hasSuffix("has a control character other than a line feed") == true)
    #expect(problem([file("en", plain: [String(repeating: "x", count: 301)])])?.contains("longer than 300") == true)
  }

  @Test func `A directory that is not there is an error that names the key`() {
    let error = #expect(throws: WorkerError.self) {
      try SMSTemplates(directory: "/nonexistent/templates", defaultLanguage: "en")
    }
    #expect(error?.code == .unreadable)
    #expect(error?.message.contains("templates.directory") == true)
  }
}
