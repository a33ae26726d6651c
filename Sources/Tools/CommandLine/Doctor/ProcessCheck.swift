import CountersignEncoding
import CountersignTelemetry
import ServiceRuntime

extension DoctorCheck {
  static let processes = DoctorCheck("processes") { facts in
    if facts.processes.isEmpty {
      return [
        Finding(
          "processes", .skipped, "the addresses of their health endpoints are not known",
          hint: "set COUNTERSIGN_COORDINATOR_URL, COUNTERSIGN_SMS_WORKER_URLS and those of the other workers")
      ]
    }
    return facts.processes.map(ProcessCheck.finding)
  }

  /// Deadlines and expiries are shared.
  static let clocks = DoctorCheck("clocks") { facts in
    var clocks = facts.reports().map { process, report in
      ClockCheck.Reading("clock of \(process.place)", ahead: report.now - process.askedAt.milliseconds)
    }
    if let date = facts.known?.date, let there = ClockCheck.time(date.header) {
      clocks.append(ClockCheck.Reading("clock of the broker", ahead: there.milliseconds - date.at.milliseconds))
    }
    return ClockCheck.findings(clocks)
  }

  /// Sign-ins with fictional numbers that accounts have proven for real.
  static let fictionalNumbers = DoctorCheck("fictional numbers") { facts in
    facts.reports().compactMap { process, report in
      guard let count = report.fictionalRefusals, count > 0 else { return nil }
      return Finding(
        "fictional numbers", .warning,
        "\(process.place) has refused \(count) sign-ins with a fictional number that an account has proven for real",
        hint:
          "a number in fictionalNumbers of coordinator.json5 is a person's: remove it, or its user cannot sign in with a real code"
      )
    }
  }
}

enum ProcessCheck {
  static func finding(_ process: ProcessFacts) -> Finding {
    let check = "process \(process.name)"
    switch process.readiness {
    case .failure(let error):
      guard process.isExpected else {
        return Finding(check, .note, "not in use: nothing answers at \(process.url), and no unit of it is enabled")
      }
      // A time-out after the connection: the kernel takes connections for a process that does not.
      let isHung = error.description.contains("timed out (firstByte)")
      return Finding(
        check, .failed, "does not answer at \(process.url): \(error.description)",
        hint: isHung
          ? "it takes connections and says nothing: it hangs, or is stopped (SIGSTOP); see its log, and start it again"
          : "start it; its log has the reason why it ended",
        about: .process(process.name), needs: [[.settings(process.name)]])
    case .success(let answer):
      if answer.status == 200 {
        return Finding(check, .ok, "ready, at \(process.url)")
      }
      return notReady(process, answer.body)
    }
  }

  private static func notReady(_ process: ProcessFacts, _ body: [UInt8]) -> Finding {
    // An answer of another form is reported without reasons.
    let report = try? JSONReader.commandLine.decode(HealthReport.self, from: body)
    let failing = report?.checks.filter { !$0.ok } ?? []
    let reasons = distinct(failing.map { $0.name + ($0.problem.map { ": \($0)" } ?? "") }).joined(separator: "; ")
    let hints = distinct(failing.compactMap(\.hint)).joined(separator: "; ")
    return Finding(
      "process \(process.name)", .failed,
      "at \(process.url) is not ready" + (reasons.isEmpty ? "" : ": \(reasons)"),
      hint: hints.isEmpty ? "fix the cause it names; the process then continues by itself" : hints,
      about: .process(process.name), needs: failing.map { needs(process.name, $0) })
  }

  private static func needs(_ process: String, _ check: HealthReport.Check) -> Set<Finding.Part> {
    let kind = check.name.split(separator: ".").last ?? ""
    if check.name.contains("broker.") {
      if check.problem?.contains("notFound") == true { return [.topology] }
      return check.problem == "connecting" ? [.broker, .topology] : [.broker]
    }
    switch kind {
    case "jobs": return [.lanes(process)]
    case "database", "ledger", "outbox": return [.database(process)]
    // It leaves them to others: without a session, or without the keys that they use.
    case "queues": return [.database(process), .keys(process)]
    default: return []
    }
  }

  private static func distinct(_ texts: [String]) -> [String] {
    var seen: Set<String> = []
    return texts.filter { seen.insert($0).inserted }
  }
}
