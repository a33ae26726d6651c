import CountersignEncoding
import CountersignTelemetry

/// Asks the processes for their health.
struct ProcessCheck {
  let probe: any HTTPProbe

  /// - Parameters:
  ///   - name: name of the process.
  ///   - url: base URL of its health endpoint.
  func finding(name: String, url: String) async -> Finding {
    let check = "process \(name)"
    do {
      let answer = try await probe.get("\(url)/readyz")
      if answer.status == 200 { return Finding(check, .ok, "ready, at \(url)") }
      return Self.notReady(check, url, answer.body)
    } catch {
      return Finding(
        check, .failed, "does not answer at \(url): \(error.description)",
        hint: "start it; its log has the reason why it ended")
    }
  }

  /// Reports the lanes of a worker that are down, which does not make the worker unready while another lane serves its
  /// jobs.
  /// - Parameters:
  ///   - name: name of the process.
  ///   - url: base URL of its health endpoint.
  func lanes(name: String, url: String) async -> [Finding] {
    // The finding about readiness reports a process that does not answer.
    guard let answer = try? await probe.get("\(url)/metrics"), answer.status == 200 else { return [] }
    return Self.lanesDown(String(decoding: answer.body, as: UTF8.self)).map { lane in
      Finding(
        "lane \(lane) of \(name)", .warning, "is down, at \(url)",
        hint: "look for \"lane is down\" in its log: credentials, a suspended account, or an outage of the provider")
    }
  }

  /// Reports a process whose machine has another time: commands of its clients then seem too old, and tokens expired.
  /// - Parameters:
  ///   - name: name of the process.
  ///   - url: base URL of its health endpoint.
  ///   - clock: local time.
  func clock(name: String, url: String, clock: any WallClock) async -> [Finding] {
    guard let answer = try? await probe.get("\(url)/livez"), answer.date != nil else { return [] }
    let finding = ClockCheck.finding(
      date: answer.date, now: clock.now(), server: "\(name), at \(url)", check: "clock of \(name)")
    return finding.status == .ok ? [] : [finding]
  }

  /// Names of the lanes whose `countersign_lane_up` is 0.
  static func lanesDown(_ metrics: String) -> [String] {
    metrics.split(separator: "\n").compactMap { line in
      guard line.hasPrefix("countersign_lane_up{"), line.hasSuffix(" 0"), let label = line.firstRange(of: "lane=\"")
      else { return nil }
      return String(line[label.upperBound...].prefix { $0 != "\"" })
    }
  }

  // MARK: Readiness

  /// Answer of `/readyz`.
  private struct Report: Decodable {
    struct Check: Decodable {
      let name: String
      let ok: Bool
      let problem: String?
      let mend: String?
    }

    let checks: [Check]
  }

  private static func notReady(_ check: String, _ url: String, _ body: [UInt8]) -> Finding {
    // An answer of another form is reported without reasons.
    let report = try? JSONReader.commandLine.decode(Report.self, from: body)
    let failing = report?.checks.filter { !$0.ok } ?? []
    let reasons = failing.map { $0.name + ($0.problem.map { ": \($0)" } ?? "") }.joined(separator: "; ")
    let hints = failing.compactMap(\.mend).joined(separator: "; ")
    return Finding(
      check, .failed, "at \(url) is not ready" + (reasons.isEmpty ? "" : ": \(reasons)"),
      hint: hints.isEmpty ? "fix the cause it names; the process then continues by itself" : hints)
  }
}
