import CountersignMessages
import ServiceRuntime

extension DoctorCheck {
  /// A number of a region that one of them lacks gets no code.
  static let regions = DoctorCheck("regions") { facts in
    let coordinators = facts.reports { $0 == Topology.Users.coordinator }
    let workers = facts.reports { $0 == Topology.Users.smsWorker }
    guard let coordinator = coordinators.first, let allowed = coordinator.report.regions else { return [] }
    if allowed.isEmpty, !workers.isEmpty {
      return [
        Finding(
          "regions of \(coordinator.process.place)", .failed, "it allows no region, so no SMS is sent",
          hint: "name the regions of your users in regions.allowed of coordinator.json5")
      ]
    }
    let members = coordinators.dropFirst().filter { $0.report.regions != allowed }.map { process, report in
      Finding(
        "regions of \(process.place)", .failed,
        "it allows \(RegionCheck.text(report.regions ?? [])), \(coordinator.process.place) \(RegionCheck.text(allowed))",
        hint: "give both the same regions.allowed")
    }
    let findings = members + workers.flatMap { RegionCheck.findings($0.process, $0.report, allowed: allowed) }
    guard findings.isEmpty, !workers.isEmpty else { return findings }
    return [Finding("regions", .ok, "sms-workers and lanes serve \(RegionCheck.text(allowed))")]
  }
}

enum RegionCheck {
  private static let all = "*"

  static func findings(_ process: ProcessFacts, _ report: RuntimeReport, allowed: [String]) -> [Finding] {
    let check = "regions of \(process.place)"
    let own = report.regions ?? []
    let refused = missing(allowed, in: own)
    if !refused.isEmpty {
      return [
        Finding(
          check, .failed, "the coordinator allows \(text(refused)), which it refuses (REGION_NOT_ALLOWED)",
          hint:
            "add \(text(refused)) to regions.allowed of sms-worker.json5, or take it out of that of coordinator.json5")
      ]
    }
    let lost = missing(allowed, in: covered(report.routes))
    guard !lost.isEmpty else { return [] }
    return [
      Finding(
        check, .failed, "no lane takes \(text(lost)), which the coordinator allows (NO_ROUTE)",
        hint:
          "add a lane for it, or the region to regions of a lane, or take it out of regions.allowed of coordinator.json5"
      )
    ]
  }

  /// A lane with prefixes alone may take any.
  private static func covered(_ routes: [RuntimeReport.Route]) -> [String] {
    routes.contains { $0.regions.isEmpty } ? [all] : routes.flatMap(\.regions)
  }

  private static func missing(_ wanted: [String], in given: [String]) -> [String] {
    given.contains(all) ? [] : wanted.filter { !given.contains($0) }
  }

  static func text(_ regions: [String]) -> String {
    regions == [all] ? "all regions" : regions.joined(separator: ", ")
  }
}
