import CountersignEncoding
import ServiceRuntime

enum DoctorCommand {
  struct Options: CommandOptions {
    let configDirectory, workerConfig: String?
    let subject: String?

    init(_ reader: OptionReader) {
      configDirectory = reader.text("config-dir", "DIRECTORY", "Directory of the processes' configuration files.")
      workerConfig = reader.text("worker-config", "FILE", "Configuration of the mail-worker, for doctor mail.")
      subject = reader.optionalOperand(
        "mail", "Checks the senders of mail instead: SPF, DKIM and DMARC in DNS, mail servers.")
      if let subject, subject != "mail" { reader.fail("doctor checks everything, or mail") }
    }
  }

  static let entry = CommandEntry(
    "doctor", "Checks broker, rights, topology, processes, files and providers, with a hint for each problem.",
    options: Options.self
  ) { options, context in
    let backend = try context.backend()
    guard options.subject == nil else {
      let configuration = try backend.mailConfiguration(file: options.workerConfig)
      return output(await backend.diagnoseMail(configuration, timeout: context.timeout))
    }
    return output(await backend.diagnose(configDirectory: options.configDirectory, timeout: context.timeout))
  }

  static func output(_ findings: [Finding]) -> CommandOutput {
    var lines: [String] = []
    for finding in findings {
      let cause = finding.cause.map { " (follows from: \($0))" } ?? ""
      lines.append("\(mark(finding.status)) \(finding.check): \(finding.detail)\(cause)")
      if let hint = finding.hint { lines.append("        hint: \(hint)") }
    }
    let failed = findings.filter { $0.status == .failed }.count
    let warnings = findings.filter { $0.status == .warning }.count
    lines.append(failed + warnings == 0 ? "all is well" : "\(failed) failed, \(warnings) to watch")
    return CommandOutput(
      text: lines.joined(separator: "\n"),
      json: .object(["findings": JSONValue(encoding: findings), "failed": .integer(Int64(failed))]),
      exitCode: failed == 0 ? .success : .failure)
  }

  private static func mark(_ status: Finding.Status) -> String {
    switch status {
    case .ok: "ok     "
    case .note: "note   "
    case .warning: "watch  "
    case .failed: "FAILED "
    case .follows: "follows"
    case .skipped: "skipped"
    }
  }
}
