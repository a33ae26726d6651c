import CountersignEncoding
import JobEngine
import Mail
import SMS
import ServiceRuntime

enum TemplatesCommand {
  static let group = CommandEntry(
    "templates", "Checks the texts of SMS and mail.", [entry])

  static let defaultDirectory = "Config/templates/sms"
  private static let defaultMailDirectory = "Config/templates/mail"

  struct Options: CommandOptions {
    let appName, domain, language, directory: String?

    init(_ reader: OptionReader) {
      appName = reader.text("app-name", "NAME", "Name that has to fit in: 'Example App' unless given.")
      domain = reader.text("domain", "DOMAIN", "Domain that has to fit in: example.com unless given.")
      language = reader.text("language", "CODE", "Default language, which must be present: en unless given.")
      directory = reader.optionalOperand(
        "DIRECTORY",
        "Directory of the <language>.json, with layout.html for mail: both of Config/templates unless given.")
    }
  }

  static let entry = CommandEntry(
    "check", "Lists problems of the templates. Exit code 1 when there are any.",
    discussion: """
      Problems are a missing or unknown variable, one that other languages have, a code that comes twice, an SMS that takes a
      second segment, a name whose direction would leak, and signs of phishing in an SMS: links, domains, other numbers, words
      in letters of several scripts. Notes, which are no problems, tell what the longest values of your own variables cost.
      """, options: Options.self
  ) { options, context in
    var report = TemplateReport()
    do {
      let linter = try TemplateLinter(
        appName: options.appName ?? "Example App", domain: options.domain ?? "example.com")
      for directory in options.directory.map({ [$0] }) ?? [defaultDirectory, defaultMailDirectory] {
        let language = options.language ?? "en"
        report.add(
          try MailTemplateLinter.isDirectory(directory)
            ? MailTemplateLinter.check(directory: directory, defaultLanguage: language)
            : linter.check(directory: directory, defaultLanguage: language))
      }
    } catch let error as TemplateProblem {
      throw CommandLineError(.badInput, error.description)
    } catch let error as WorkerError {
      throw CommandLineError(.noInput, error.message)
    }
    return CommandOutput(
      text: text(report), json: json(report), exitCode: report.findings.isEmpty ? .success : .failure)
  }

  private static func text(_ report: TemplateReport) -> String {
    let count =
      switch report.findings.count {
      case 0: "no problems"
      case 1: "1 problem"
      default: "\(report.findings.count) problems"
      }
    let lines = report.notes.map { "note: \($0)" } + report.findings.map(\.description)
    return (lines + ["\(report.files) files, \(report.wordings) wordings: \(count)"]).joined(separator: "\n")
  }

  private static func json(_ report: TemplateReport) -> JSONValue {
    .object([
      "files": .integer(Int64(report.files)), "wordings": .integer(Int64(report.wordings)),
      "findings": list(report.findings, "problem"), "notes": list(report.notes, "note"),
    ])
  }

  private static func list(_ findings: [TemplateFinding], _ what: String) -> JSONValue {
    .array(
      findings.map { .object(["file": .text($0.file), "place": .text($0.place), what: .text($0.problem)]) })
  }
}
