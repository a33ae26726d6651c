internal import CountersignMessages
internal import CountersignTelemetry

/// The result of a job, for people.
enum JobResultText {
  static func text(_ result: JobResult) -> String {
    var rows = [(name: "\(result.outcome.rawValue):", value: "job \(result.jobID)")]
    if let lane = result.lane { rows.append(("lane", lane)) }
    if let reference = result.reference { rows.append(("reference", reference)) }
    if let reason = result.reason { rows.append(("reason", text(reason))) }
    rows.append(("attempts", "\(result.attempts)"))
    rows.append(("finished", result.finishedAt.rfc3339WithMilliseconds))
    rows += result.extras.sorted { $0.key < $1.key }.map { ($0.key, text($0.value)) }
    let width = rows.map(\.name.count).max() ?? 0
    return rows.map { $0.name + String(repeating: " ", count: width - $0.name.count + 2) + $0.value }
      .joined(separator: "\n")
  }

  private static func text(_ reason: JobResult.Reason) -> String {
    let provider = reason.providerCode.map { " (the provider's code: \($0))" } ?? ""
    return reason.code + provider + (reason.detail.map { ": \($0)" } ?? "")
  }

  private static func text(_ value: JobResult.Value) -> String {
    switch value {
    case .string(let text): text
    case .int(let number): "\(number)"
    case .double(let number): "\(number)"
    case .bool(let flag): "\(flag)"
    }
  }
}
