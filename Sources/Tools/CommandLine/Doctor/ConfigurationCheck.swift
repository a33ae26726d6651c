/// Runs `--check` of processes that do not answer on their configuration files: only the process knows every key.
struct ConfigurationCheck {
  let programs: String
  let run: @Sendable (_ path: String, _ arguments: [String]) async -> ChildProcess.Outcome?

  /// Checks the files named after a program (`sms-worker.json5`). Others have no findings.
  func findings(_ files: ConfigurationFiles) async -> [Finding] {
    var findings: [Finding] = []
    for file in files.files {
      let name = String(file.name.dropLast(".json5".count))
      let program = "\(programs)/\(name)"
      guard Self.processes.contains(name), FileFacts(program) != nil,
        let outcome = await run(program, ["--check", "--config", "\(file.directory)/\(file.name)"])
      else { continue }
      findings.append(Self.finding(file.name, outcome))
    }
    return findings
  }

  static let processes: Set<String> = [
    "accounts", "coordinator", "gateway", "mail-worker", "push-worker", "revocation-worker", "simulator", "sms-worker",
    "webhook-worker",
  ]

  private static func finding(_ file: String, _ outcome: ChildProcess.Outcome) -> Finding {
    let check = "settings of \(file)"
    if outcome.status == 0 { return Finding(check, .ok, "its process accepts them") }
    let lines = outcome.output.split(separator: "\n").prefix(3).joined(separator: "; ")
    // What is only absent from the file may come from the variables of its unit.
    let isAbsent = outcome.output.split(separator: "\n").allSatisfy {
      $0.contains(" is missing: ") || $0.contains(" is required: ")
    }
    return Finding(
      check, isAbsent ? .warning : .failed, lines.isEmpty ? "exit status \(outcome.status)" : lines,
      hint: "correct the keys named above" + (isAbsent ? ", unless its unit sets them by variables" : ""),
      about: .settings(String(file.dropLast(".json5".count))))
  }
}
