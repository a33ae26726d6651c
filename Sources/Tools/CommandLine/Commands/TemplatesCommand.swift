internal import JobEngine
internal import SMS
internal import ServiceRuntime

/// `countersign templates`.
struct TemplatesCommand {
  static let defaultDirectory = "Config/templates/sms"

  func run(_ arguments: CommandArguments) throws -> CommandOutput {
    let directory = arguments.operands("DIRECTORY").first ?? Self.defaultDirectory
    let report: TemplateLinter.Report
    do {
      let linter = try TemplateLinter(
        appName: arguments.value("app-name") ?? "Example App", domain: arguments.value("domain") ?? "example.com")
      report = try linter.check(directory: directory, defaultLanguage: arguments.value("language") ?? "en")
    } catch let error as SMSTemplateProblem {
      throw OperationsError(.badInput, error.description)
    } catch let error as WorkerError {
      throw OperationsError(.noInput, error.message)
    }
    return CommandOutput(
      text: Self.text(report), json: Self.json(report), exitCode: report.findings.isEmpty ? .success : .failure)
  }

  private static func text(_ report: TemplateLinter.Report) -> String {
    let sum = "\(report.files) files, \(report.wordings) wordings: "
    guard !report.findings.isEmpty else { return sum + "nothing to mend" }
    return (report.findings.map(\.description) + [sum + "\(report.findings.count) to mend"]).joined(separator: "\n")
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
