internal import ServiceRuntime

/// `countersign doctor`.
struct DoctorCommand {
  let backend: any OperatorBackend

  func run(_ arguments: CommandArguments) async throws -> CommandOutput {
    if let what = arguments["mail"] {
      guard what == "mail" else { throw UsageError("doctor looks at everything, or at mail") }
      let configuration = try backend.mailConfiguration(file: arguments.value("worker-config"))
      return Self.output(await backend.diagnoseMail(configuration, timeout: try arguments.timeout()))
    }
    return Self.output(
      await backend.diagnose(configDirectory: arguments.value("config-dir"), timeout: try arguments.timeout()))
  }

  static func output(_ findings: [Finding]) -> CommandOutput {
    var lines: [String] = []
    for finding in findings {
      lines.append("\(mark(finding.status)) \(finding.check): \(finding.detail)")
      if let mend = finding.mend { lines.append("        mend: \(mend)") }
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
    case .skipped: "skipped"
    }
  }
}
