/// Has each process check its own configuration file: only it knows every key.
struct ConfigurationCheck {
  /// Where the programs are.
  let programs: String
  /// Runs a program with arguments.
  let run: @Sendable (_ path: String, _ arguments: [String]) async -> ChildProcess.Outcome?

  /// The findings of the files that bear the name of a program (`sms-worker.json5`); the others have none.
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

  /// Programs that understand `--check`.
  static let processes: Set<String> = [
    "coordinator", "mail-worker", "push-worker", "revocation-worker", "simulator", "sms-worker",
  ]

  private static func finding(_ file: String, _ outcome: ChildProcess.Outcome) -> Finding {
    let check = "settings of \(file)"
    if outcome.status == 0 { return Finding(check, .ok, "its process takes them") }
    let lines = outcome.output.split(separator: "\n").prefix(3).joined(separator: "; ")
    return Finding(check, .failed, lines.isEmpty ? "exit status \(outcome.status)" : lines, mend: "as it says")
  }
}
