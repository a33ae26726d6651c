import CountersignMessages
import ServiceRuntime

extension DoctorCheck {
  static let apps = DoctorCheck("apps") { facts in
    let coordinators = facts.reports { $0 == Topology.Users.coordinator }
    let holders = facts.reports { [Topology.Users.accounts, Topology.Users.gateway].contains($0) }
    var findings = (coordinators + holders).compactMap { AppCheck.wrong($0.process, $0.report) }
    findings += AppCheck.members(coordinators, "apps", "projectsDirectory, and apps in coordinator.json5") { $0.apps }
    findings += AppCheck.members(holders, "projects", "projectsDirectory") { $0.projects }
    guard let holder = holders.first, let projects = holder.report.projects else { return findings }
    if let coordinator = coordinators.first?.report {
      findings += AppCheck.unknown(projects, coordinator, holder.process)
    }
    guard findings.isEmpty else { return findings }
    let count = projects.values.map(\.count).reduce(0, +)
    return [
      projects.isEmpty
        ? Finding("projects", .note, "there is no project", hint: "countersign project add")
        : Finding("projects", .ok, "\(projects.count) projects with \(count) apps")
    ]
  }
}

enum AppCheck {
  static func wrong(_ process: ProcessFacts, _ report: RuntimeReport) -> Finding? {
    report.wrongProjects.map {
      Finding(
        "projects of \(process.place)", .failed, "it keeps a project as it was, because a file is wrong: \($0)",
        hint: "correct the file: it is taken a few seconds later, without a restart")
    }
  }

  static func members<Value: Equatable>(
    _ members: [(process: ProcessFacts, report: RuntimeReport)], _ what: String, _ file: String,
    _ value: (RuntimeReport) -> Value?
  ) -> [Finding] {
    guard let first = members.first else { return [] }
    return members.dropFirst().filter { value($0.report) != value(first.report) }.map { process, _ in
      Finding(
        "\(what) of \(process.place)", .warning, "they differ from those of \(first.process.place)",
        hint:
          "give both the same \(file); the coordinator reads its own apps at its start, and all of them the projects' files at once"
      )
    }
  }

  static func unknown(
    _ projects: [String: [String]], _ coordinator: RuntimeReport, _ process: ProcessFacts
  ) -> [Finding] {
    projects.values.flatMap { $0 }.sorted().compactMap { id in
      let check = "projects of \(process.place)"
      guard let mode = coordinator.apps?[id] else {
        return Finding(
          check, .failed, "the coordinator has no app \(id): no code is sent for it",
          hint:
            "give it 'codes' in its project's file, in the projectsDirectory of the coordinator, or add it to apps of coordinator.json5 and start the coordinator again"
        )
      }
      guard mode == "trusted", !coordinator.isDevelopment else { return nil }
      return Finding(
        check, .failed,
        "the app \(id) is 'trusted' at the coordinator, so the gateway, which cannot vouch for its callers, is refused",
        hint: "set its verification to push or recaptcha; services that ask for it themselves need an app of their own")
    }
  }
}
