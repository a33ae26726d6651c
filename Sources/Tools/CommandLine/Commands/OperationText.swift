internal import CountersignMessages
internal import CountersignTelemetry

/// The life of an operation as a table: when, in which process, what.
enum OperationText {
  static func text(_ status: OperationStatus) -> String {
    var table = TextTable("TIME", "PROCESS", "EVENT", "LANE", "DETAIL")
    table.rows = status.timeline.map(row)
    return table.rows.isEmpty ? head(status) : "\(head(status))\n\n\(table.text)"
  }

  private static func head(_ status: OperationStatus) -> String {
    let ending = status.ending.map { " (\($0.rawValue))" } ?? ""
    var head = "\(status.state.rawValue)\(ending): \(status.kind.rawValue) for \(status.app)"
    if status.state == .running { head += ", until \(status.expiresAt.rfc3339)" }
    if let failure = status.failure {
      head += "\nwhy: \(failure.code)" + (failure.detail.map { " (\($0))" } ?? "")
    }
    return head
  }

  private static func row(_ entry: VerificationStatus.Entry) -> [String] {
    let attempts = entry.attempts.flatMap { $0 > 1 ? "\($0) attempts" : nil }
    let reference = entry.reference.map { "reference \($0)" }
    let detail = [entry.reason, entry.detail, reference, attempts].compactMap { $0 }.joined(separator: ", ")
    return [entry.at.rfc3339WithMilliseconds, entry.worker ?? "coordinator", entry.event, entry.lane ?? "", detail]
  }
}
