internal import CountersignMessages
internal import CountersignTelemetry

/// The life of a verification as a table: when, in which process, what.
enum Timeline {
  static func text(_ status: VerificationStatus) -> String {
    var table = TextTable("TIME", "PROCESS", "EVENT", "SMS", "LANE", "DETAIL")
    table.rows = status.timeline.map(row)
    var head =
      "\(status.state.rawValue): \(status.phoneNumber) for \(status.app), code until \(status.expiresAt.rfc3339)"
    if let failure = status.failure {
      head += "\nfailed: \(failure.code)" + (failure.detail.map { " (\($0))" } ?? "")
    }
    return table.rows.isEmpty ? head : "\(head)\n\n\(table.text)"
  }

  private static func row(_ entry: VerificationStatus.Entry) -> [String] {
    [
      entry.at.rfc3339WithMilliseconds, entry.worker ?? "coordinator", entry.event, entry.job.map { "\($0)" } ?? "",
      entry.lane ?? "", detail(entry),
    ]
  }

  private static func detail(_ entry: VerificationStatus.Entry) -> String {
    var parts: [String] = []
    if let reason = entry.reason { parts.append(reason) }
    if let detail = entry.detail { parts.append(detail) }
    if let reference = entry.reference { parts.append("reference \(reference)") }
    if let segments = entry.segments { parts.append(segments == 1 ? "1 segment" : "\(segments) segments") }
    if let attempts = entry.attempts, attempts > 1 { parts.append("\(attempts) attempts") }
    return parts.joined(separator: ", ")
  }
}
