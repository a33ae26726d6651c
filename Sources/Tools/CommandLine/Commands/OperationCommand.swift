import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

enum OperationCommand {
  static let group = CommandEntry("operation", "Shows revocations and pushes.", [status])

  static let status = CommandEntry(
    "status", "Shows the life of a revocation, or of the push of a receipt, across all processes.",
    operand: .required("ID", "Operation ID, or receipt.")
  ) { id, context in
    let reply = try await context.send(GetOperationStatus(operationID: id))
    return CommandOutput(text: OperationText.text(reply), reply: reply)
  }
}

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
    [entry.at.rfc3339WithMilliseconds, entry.worker ?? "coordinator", entry.event, entry.lane ?? "", detail(entry)]
  }

  static func detail(_ entry: VerificationStatus.Entry) -> String {
    let reference = entry.reference.map { "reference \($0)" }
    let segments = entry.segments.map { $0 == 1 ? "1 segment" : "\($0) segments" }
    let attempts = entry.attempts.flatMap { $0 > 1 ? "\($0) attempts" : nil }
    let next = entry.nextAttemptAt.map { "tried again at \($0.rfc3339)" }
    let user = entry.by.map { "by \($0)" }
    return [entry.reason, entry.detail, reference, segments, attempts, next, user].compactMap { $0 }
      .joined(separator: ", ")
  }
}

struct OperationWatch {
  let backend: any OperatorBackend
  var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

  static let interval = Duration.milliseconds(500)

  func wait(
    for id: String, within time: Duration, timeout: Duration, until isDone: (OperationStatus) -> Bool
  ) async throws -> OperationStatus {
    var left = time
    while true {
      let status = try await backend.send(GetOperationStatus(operationID: id), timeout: timeout)
      guard !isDone(status), left > .zero else { return status }
      try await pause(Self.interval)
      left -= Self.interval
    }
  }
}
