import CountersignEncoding
import JobEngine
import SMS
import ServiceRuntime

enum TemplatesCommand {
  static let group = CommandEntry(
    "templates", "Checks the texts of verification messages.", [CommandEntry(Check.self)])

  static let defaultDirectory = "Config/templates/sms"

  enum Check: OperatorCommand {
    static let syntax = CommandSyntax(
      "check", "Lists problems of the templates. Exit code 1 when there are any.",
      discussion: """
        Problems are a missing variable, a text that takes a second segment, a name whose direction would leak, and signs of
        phishing: links, domains, other numbers, words in letters of several scripts.
        """,
      options: Options.self)

    struct Options: CommandOptions {
      let appName, domain, language, directory: String?

      init(_ reader: OptionReader) {
        appName = reader.text("app-name", "NAME", "Name that has to fit in: 'Example App' unless given.")
        domain = reader.text("domain", "DOMAIN", "Domain that has to fit in: example.com unless given.")
        language = reader.text("language", "CODE", "Default language, which must be present: en unless given.")
        directory = reader.optionalOperand(
          "DIRECTORY", "Directory of the <language>.json: Config/templates/sms unless given.")
      }
    }

    static func run(_ options: Options, in context: CommandContext) async throws -> CommandOutput {
      let report: TemplateLinter.Report
      do {
        let linter = try TemplateLinter(
          appName: options.appName ?? "Example App", domain: options.domain ?? "example.com")
        report = try linter.check(
          directory: options.directory ?? defaultDirectory, defaultLanguage: options.language ?? "en")
      } catch let error as SMSTemplateProblem {
        throw CommandLineError(.badInput, error.description)
      } catch let error as WorkerError {
        throw CommandLineError(.noInput, error.message)
      }
      return CommandOutput(
        text: text(report), json: json(report), exitCode: report.findings.isEmpty ? .success : .failure)
    }

    private static func text(_ report: TemplateLinter.Report) -> String {
      let sum = "\(report.files) files, \(report.wordings) wordings: "
      guard !report.findings.isEmpty else { return sum + "no problems" }
      let count = report.findings.count == 1 ? "1 problem" : "\(report.findings.count) problems"
      return (report.findings.map(\.description) + [sum + count]).joined(separator: "\n")
    }

    private static func json(_ report: TemplateLinter.Report) -> JSONValue {
      .object([
        "files": .integer(Int64(report.files)), "wordings": .integer(Int64(report.wordings)),
        "findings": .array(
          report.findings.map {
            .object(["file": .text($0.file), "place": .text($0.place), "problem": .text($0.problem)])
          }),
      ])
    }
  }
}
