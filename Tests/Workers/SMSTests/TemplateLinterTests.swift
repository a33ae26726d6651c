import FoundationEssentials
import JobEngine
import TestSupport
import Testing

@testable import SMS

@Suite struct TemplateLinterTests {
  @Test func `The files that are shipped have nothing to fix`() throws {
    let report = try TemplateLinter().check(directory: Shipped.config + "/templates/sms")
    #expect(report.findings.map(\.description) == [])
    #expect(report.files >= 40)
    #expect(report.wordings > 2 * report.files)
  }

  @Test(
    arguments: [
      "{code} is your {appName} code.", "Il Suo codice {appName} è {code}.", "{code} — ваш SMS-код для {appName}.",
      "{appName}の認証コードは{code}です。他の人には教えないでください。", "您的{appName}验证码是{code}，请勿告诉他人。", "የ{appName} ኮድ {code} ነው።",
      "رمز \u{2068}{appName}\u{2069} هو {code}.", "\u{2068}{appName}\u{2069} کا کوڈ {code} ہے۔",
      "ඔබේ {appName} සත්\u{200D}යාපන කේතය {code}.",
      "{code} este codul dvs. pentru {appName}.", "{appName}. Ձեր կոդն է {code}։ Ոչ ոքի մի՛ հայտնեք։",
      "{appName} z.B. {code}",
      "क्\u{200D}ष {appName} {code}", "{code}\n{appName}",
    ])
  func `A wording that is right`(wording: String) {
    #expect(WordingLinter.problems(wording, isDomainBound: false) == [])
  }

  @Test(
    arguments: [
      ("{code} is your code.", "does not contain {appName}"),
      ("{appName} sends you a code.", "does not contain {code}"),
      ("{code} {code} {appName}", "contains {code} more than once"),
      ("{code} for {appName} at {domain}", "contains {domain}, which phones turn into a link"),
      ("{code} {appName} " + String(repeating: "long ", count: 32), "takes 2 segments of gsm7 however short"),
      ("{code} {appName} " + String(repeating: "длин ", count: 14), "takes 2 segments of ucs2 however short"),
      ("{code} {appName} https://evil", "has a link"), ("{code} {appName} WWW.evil", "has a link"),
      ("{code} {appName} see example.com/x", "has 'example.com/x', which phones turn into a link"),
      ("{code} for {appName}.Do not share", "has '{appName}.Do', which phones turn into a link"),
      ("{code} {appName}.com", "which phones turn into a link"), ("www.{appName} {code}", "has a link"),
      ("{code} {appName} bit。ly", "which phones turn into a link"),
      ("{code} {appName} пример.рф", "which phones turn into a link"),
      ("{code} {appName} 10.0.0.1", "which phones turn into a link"), ("{code} {appName} help@x", "has an @"),
      ("{code} {appName}\n@evil #1", "has an @"), ("{code} {appName}, call 555 0100", "has a number beside the code"),
      ("{code} is your {appName} c\u{43E}de.", "has 'c\u{43E}de', a word in letters of several scripts"),
      ("{code} для {appName} кo\u{434}", "a word in letters of several scripts"),
      ("{code} is your \u{455}\u{435}cret {appName} code", "a word in letters of several scripts"),
      ("{code} is your {appName} \u{441}\u{43E}\u{435}.", "a word in another script than the rest"),
      ("{code} is your {appName} ｃode", "has U+FF43, which looks like another character"),
      ("{code} is your {appName} 𝐜ode", "has U+1D41C, which looks like another character"),
      ("{code} is your {appName} co\u{200B}de", "has U+200B, which cannot be seen"),
      ("{code} is your {appName} co\u{200C}de", "has U+200C, which cannot be seen"),
      ("{code} is your {appName} co\u{AD}de", "has U+00AD, which cannot be seen"),
      ("{code} is \u{200E}your {appName}", "has a direction mark, although it is written from left to right"),
      ("\u{202E}{code} {appName}", "has a direction mark"),
      ("رمز {appName} هو {code}.", "must have {appName} between \\u2068 and \\u2069"),
      ("Code رمز \u{2068}{appName}\u{2069} {code}", "begins with a letter of the other direction"),
      ("{appName} رمز {code}", "begins with a letter of the other direction"),
      ("رمز \u{2068}{appName} هو {code}.", "has isolates that do not come in pairs"),
      ("رمز \u{2069}{appName}\u{2068} هو {code}.", "has isolates that do not come in pairs"),
      ("رمز \u{202A}{appName}\u{202C} هو {code}.", "has the direction mark U+202A: only isolates"),
    ])
  func `A wording that is wrong, and what is said of it`(wording: String, expected: String) {
    let problems = WordingLinter.problems(wording, isDomainBound: false)
    #expect(problems.contains { $0.contains(expected) }, "\(problems)")
  }

  @Test func `A last line takes its room`() {
    let wording = "{code} {appName} " + String(repeating: "длин ", count: 8)
    #expect(WordingLinter.problems(wording, isDomainBound: false) == [])
    #expect(WordingLinter.problems(wording + "длин длин длин ", isDomainBound: true).count == 1)
  }

  private func check(_ files: [String: String], appName: String = "Example App") throws -> [String] {
    let directory = FileManager.default.temporaryDirectory.path + "/templates-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    for (name, text) in files { try Data(text.utf8).write(to: URL(filePath: "\(directory)/\(name).json")) }
    return try TemplateLinter(appName: appName).check(directory: directory).findings.map(\.description)
  }

  private func file(_ language: String, _ plain: String, _ bound: String = "{code} {appName}") -> String {
    """
    {"language": "\(language)", "templates": {"verification": {"plain": ["\(plain)"], "domainBound": ["\(bound)"]}}}
    """
  }

  @Test func `Each finding says file and place, and one wrong file hides no other`() throws {
    let findings = try check([
      "en": file("en", "{code} {appName}"), "de": file("de", "{code}", "{code} {appName} x.yz"), "fr": "{",
      "it": file("es", "{code} {appName}"), "pl": file("pl", "{cod} {appName}"),
    ])
    #expect(findings.count == 5, "\(findings)")
    #expect(findings[0].hasPrefix("de.json: verification.plain[0]: does not contain {appName}"))
    #expect(findings[1].hasPrefix("de.json: verification.domainBound[0]: has 'x.yz'"))
    #expect(findings[2].hasPrefix("fr.json: "))
    #expect(findings[3].contains("it.json: language is 'es'"))
    #expect(findings[4].hasPrefix("pl.json: verification.plain[0]: uses {cod}"))
  }

  // MARK: Variables of one's own

  private func report(_ files: [String: String], _ declarations: String) throws -> TemplateReport {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    try Data(declarations.utf8).write(to: URL(filePath: "\(directory.path)/variables.json5"))
    for (name, text) in files { try Data(text.utf8).write(to: URL(filePath: "\(directory.path)/\(name).json")) }
    return try TemplateLinter().check(directory: directory.path)
  }

  @Test func `Each language has every variable, and the cost of the longest values is told`() throws {
    let wording = "{code} for {appName} at {shop}"
    let shop = "{ shop: { maxLength: 100 } }"
    let fine = try report(["en": file("en", wording, wording), "de": file("de", wording, wording)], shop)
    #expect(fine.findings == [])
    #expect(fine.notes.count == 6)
    #expect(
      fine.notes.first?.description
        == "de.json: verification: plain: with the longest {shop} 1 segment of gsm7, 2 segments of ucs2 with other letters than those of GSM 7 bit"
    )
    let lacking = try report(["en": file("en", wording, wording), "de": file("de", "{code} {appName}")], shop)
    #expect(
      lacking.findings.map(\.description) == [
        "de.json: verification: does not contain {shop}, which other languages have"
      ])
  }

  @Test func `A language without a template is a note`() throws {
    let de = #"{"language": "de", "templates": {}}"#
    let found = try report(["en": file("en", "{code} {appName}"), "de": de], "{}")
    #expect(found.findings == [])
    #expect(
      found.notes.map(\.description) == ["de.json: verification: is missing: messages are in the default language"])
  }

  @Test(
    arguments: [
      ("{code} {appName} {shpo}", "uses {shpo} (did you mean {shop}?)"),
      ("{code} {appName} {shop}.com", "has '{shop}.com', which phones turn into a link"),
      ("{code} {appName} {code} {shop}", "contains {code} more than once"),
      ("{appName}: {code}{shop}", "has {code} beside {shop}"),
      ("رمز \u{2068}{appName}\u{2069} {shop} {code}.", "must have {shop} between \\u2068 and \\u2069"),
    ])
  func `A wording with a wrong variable`(wording: String, expected: String) throws {
    let found = try report(["en": file("en", wording, wording)], "{ shop: { maxLength: 10 } }")
    #expect(found.findings.contains { $0.problem.contains(expected) }, "\(found.findings)")
  }

  @Test func `A wrong declaration is a finding`() throws {
    let found = try report(["en": file("en", "{code} {appName}")], "{ shop: { maxLen: 10 } }")
    #expect(found.findings.first?.description.contains("shop.maxLen: unknown key (did you mean maxLength?)") == true)
  }

  @Test func `Files that do not go together`() throws {
    #expect(try check(["de": file("de", "{code} {appName}")])[0].contains("templates.defaultLanguage is 'en'"))
  }

  @Test func `A name that needs a shorter wording`() throws {
    let files = ["en": file("en", "{code} — {appName}", "{code} — {appName}")]
    #expect(try check(files) == [])
    let findings = try check(files, appName: String(repeating: "x", count: 64))
    #expect(findings.count == 3, "\(findings)")
    #expect(findings[0].contains("en.json: verification: plain: takes 2 segments for the name 'xxx"))
    #expect(findings[2].contains("for Android: takes 2 segments"))
  }

  @Test func `Without files there is nothing to say`() {
    let error = #expect(throws: WorkerError.self) { try TemplateLinter().check(directory: "/nonexistent") }
    #expect(error?.code == .unreadable)
    #expect(throws: TemplateProblem.self) { try TemplateLinter(appName: "a\nb") }
  }
}
