import ServiceRuntime

extension DoctorCheck {
  static let lanes = DoctorCheck("lanes") { facts in
    facts.reports().flatMap { process, report in
      var seen: Set<[String]> = []
      return Set(report.lanes.map(\.queue)).sorted().flatMap { queue -> [Finding] in
        let lanes = report.lanes.filter { $0.queue == queue }
        // Two queues may share lanes.
        guard seen.insert(lanes.filter(LaneCheck.isBad).map(\.name)).inserted else { return [] }
        return LaneCheck.findings(lanes, queue, process, unreachable: facts.unreachable)
      }
    }
  }

  static let delays = DoctorCheck("delays") { facts in
    facts.reports().flatMap { process, report in
      report.delays.filter { $0.age <= LaneCheck.recently }.map { delay in
        Finding(
          "jobs of \(delay.queue) at \(process.place)", .warning,
          "\(delay.count) were delayed since its start, the last one \(delay.age) s ago (\(delay.code): \(delay.detail))",
          hint: "they are tried again until their deadlines; see the provider's status page, and the worker's log",
          needs: [[.lanes(process.name)]])
      }
    }
  }
}

enum LaneCheck {
  /// Failed calls in a row that are more than a provider's hiccup.
  static let failuresThatCount = 3
  /// Seconds within which a delay is news.
  static let recently = 300

  static func isBad(_ lane: RuntimeReport.Lane) -> Bool { !lane.isUp || lane.failures >= failuresThatCount }

  static func findings(
    _ lanes: [RuntimeReport.Lane], _ queue: String, _ process: ProcessFacts, unreachable: [String: String]
  ) -> [Finding] {
    let bad = lanes.filter(isBad)
    guard !bad.isEmpty else { return [] }
    let place = "\(queue) at \(process.place)"
    guard bad.count == lanes.count else {
      return bad.map {
        Finding("lane \($0.name) of \(place)", .warning, text($0), hint: hint($0, process))
      }
    }
    // A provider that this machine cannot reach either explains its lanes.
    let needs = bad.map { lane -> Set<Finding.Part> in
      unreachable["\(process.url) \(lane.name)"].map { [.provider($0)] } ?? []
    }
    return [
      Finding(
        "lanes of \(place)", .failed,
        (lanes.count == 1 ? "the only lane fails: " : "every lane fails: ")
          + bad.map { "\($0.name) \(text($0))" }.joined(separator: "; "),
        hint: bad.first.map { hint($0, process) }, about: .lanes(process.name), needs: needs)
    ]
  }

  private static func text(_ lane: RuntimeReport.Lane) -> String {
    let reason = lane.reason.map { " (\($0))" } ?? ""
    return lane.isUp ? "is up, but its last \(lane.failures) calls failed\(reason)" : "is down\(reason)"
  }

  private static func hint(_ lane: RuntimeReport.Lane, _ process: ProcessFacts) -> String {
    let file = process.report?.guarded?.configurationFile ?? "\(process.name).json5"
    return switch lane.reason?.prefix(while: { $0 != ":" && $0 != " " }) {
    case "PROVIDER_CREDENTIALS", "PROVIDER_ACCOUNT":
      "correct lane \(lane.name) in \(file) and the files of its secrets, or the account at the provider, and start the worker again"
    case "NOT_CONNECTED":
      "check the lane's address in \(file), DNS, the firewall, and the certificates of its machine"
    default: "see the provider's status page; its jobs are tried again by themselves"
    }
  }
}
