import ServiceRuntime
import TestSupport
import Testing

@testable import CommandLine

private let config = Repository.config

@Suite struct TemplatesCommandTests {
  @Test func `The shipped ones are right`() async {
    let run = await Run(FakeBackend(), "templates", "check", config + "/templates/sms")
    #expect(run.code == .success, "\(run.output)")
    #expect(run.output.contains("no problems"))
  }

  @Test func `Findings end in exit code1`() async throws {
    let name = String(repeating: "Ж", count: 64)
    let arguments = ["templates", "check", config + "/templates/sms", "--app-name", name]
    let run = await Run(FakeBackend(), arguments: arguments)
    #expect(run.code == .failure)
    #expect(run.output.contains("de.json: verification: plain: takes 2 segments for the name"))
    let json = await Run(FakeBackend(), arguments: arguments + ["--json"])
    #expect(json.output.contains(#""file":"de.json""#))
    #expect(json.output.contains(#""findings":[{"#))
  }

  @Test func `Templates of mail are recognized by their layout`() async {
    let run = await Run(FakeBackend(), "templates", "check", config + "/templates/mail", "--json")
    #expect(run.code == .success, "\(run.output)")
    #expect(run.output.contains(#""files":10"#) && run.output.contains(#""notes":[]"#))
  }

  @Test func `Notes are told, and are no problems`() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let text = "{code} {appName} {shop}"
    try directory.write("{ shop: { maxLength: 100 } }", to: "variables.json5")
    try directory.write(
      #"{"language": "en", "templates": {"pay": {"plain": ["\#(text)"], "domainBound": ["\#(text)"]}}}"#, to: "en.json")
    let run = await Run(FakeBackend(), "templates", "check", directory.path)
    #expect(run.code == .success, "\(run.output)")
    #expect(run.output.contains("note: en.json: pay: plain: with the longest {shop} 1 segment of gsm7"))
    let preview = [
      "sms", "preview", "--template", "pay", "--templates", directory.path, "--variable", "shop=Corner = Café",
    ]
    #expect(await Run(FakeBackend(), arguments: preview).output.contains("482913 Example App Corner = Café"))
    let lacking = await Run(FakeBackend(), "sms", "preview", "--template", "pay", "--templates", directory.path)
    #expect(lacking.code == .badInput && lacking.error.contains("variables.custom.shop is missing"))
    for wrong in [["--variable", "shop"], ["--variable", "shop=A"]] {
      #expect(await Run(FakeBackend(), arguments: preview + wrong).code == .usage)
    }
  }

  @Test func `A directory that is not there is no input`() async {
    let run = await Run(FakeBackend(), "templates", "check", "/nonexistent")
    #expect(run.code == .noInput)
    #expect(await Run(FakeBackend(), "templates", "check", "--domain", "no domain").code == .badInput)
  }
}

@Suite struct SMSPreviewTests {
  private static let table = config + "/transliteration.json5"

  @Test func `A short text fits one segment`() async {
    let run = await Run(FakeBackend(), "sms", "preview", "Größe: 5€")
    #expect(run.code == .success)
    #expect(
      run.output == """
        encoding  gsm7
        segments  1, 10 units in all, 160 fit each
        cost      single

        1/1  10 units
        Größe: 5€

        """)
  }

  @Test func `A segment that could be spared`() async {
    let text = String(repeating: "Doğrulama kodunuz. ", count: 5)
    let run = await Run(FakeBackend(), input: text + "\n", "sms", "preview", "--transliteration", Self.table)
    #expect(run.output.contains("encoding  ucs2\nsegments  2, 95 units in all, 67 fit each\ncost      avoidable"))
    #expect(run.output.contains("ucs2 for  ğ U+011F"))
    #expect(run.output.contains("with      transliterate: 1 segment of gsm7"))
    #expect(run.output.contains("with      nationalShiftTables: 1 segment of gsm7, turkish"))
    #expect(run.output.contains("1/2  67 units"))
    #expect(run.output.contains("2/2  28 units"))
  }

  @Test func `Unfixable texts are reported`() async {
    let run = await Run(
      FakeBackend(), "sms", "preview", String(repeating: "あ", count: 71), "--json", "--transliteration", Self.table)
    for part in [
      #""costClass":"several""#, #""alternatives":[]"#, #""segments":2"#, #""units":71"#, #""unitsPerSegment":67"#,
      #""charactersOutsideGSM7":["あ"]"#, #""parts":[{"#,
    ] {
      #expect(run.output.contains(part), "\(part)")
    }
  }

  @Test func `A template is rendered and counted`() async {
    let directory = config + "/templates/sms"
    let run = await Run(
      FakeBackend(), "sms", "preview", "--template", "verification", "--language", "de-AT", "--templates", directory,
      "--domain", "example.com", "--code", "123456", "--app-name", "Beispiel")
    #expect(
      run.output.hasSuffix(
        "123456 ist Ihr Bestätigungscode für Beispiel. Bitte geben Sie ihn nicht weiter.\n@example.com #123456\n"))
    let android = await Run(
      FakeBackend(), "sms", "preview", "--template", "verification", "--templates", directory, "--android-hash",
      "FA+9qCX9VSu")
    #expect(android.output.contains("<#> 482913 is your"))
    #expect(android.output.hasSuffix("\nFA+9qCX9VSu\n"))
    let wrong = await Run(FakeBackend(), "sms", "preview", "--template", "welcome", "--templates", directory)
    #expect(wrong.code == .badInput)
    #expect(wrong.error.contains("there is no template 'welcome'"))
    #expect(await Run(FakeBackend(), "sms", "preview", "x", "--template", "verification").code == .usage)
  }
}
