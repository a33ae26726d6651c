import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Tickets: opened, verified, closed with a PIN, and expired.
struct TicketFlow: Flow {
  let secrets: TicketSecrets
  /// This service's queue of results and replies.
  let replyQueue: String
  let opened: Counter
  /// Time for which a ticket is open.
  var lifetime = Duration.seconds(600)
  /// Time for which the coordinator's reply is awaited.
  var patience = Duration.seconds(30)

  var commands: [CommandKind] {
    [
      CommandKind(OpenTicket.self, isRefusedLate: true) { [self] command, _, _ throws(APIError) in
        guard command.holder.contains("@") else { throw .invalidHolder }
        return OpenTicketOrder(command, self)
      },
      CommandKind(VerifyTicket.self) { [self] command, _, _ throws(APIError) in VerifyTicketOrder(command, self) },
      CommandKind(IssueTicketKey.self, users: .operators) { [secrets] command, _, _ throws(APIError) in
        IssueTicketKeyOrder(command, secrets)
      },
      CommandKind(CloseTicket.self) { [secrets] command, _, _ throws(APIError) in CloseTicketOrder(command, secrets) },
    ]
  }

  var reports: [ReportKind] {
    [
      TicketMailReport.kind, VerificationReply.kind(VerificationStarted.type), VerificationReply.kind(ErrorReply.type),
    ]
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(Ticket.kind, part: MaintenancePart(rawValue: "end_tickets")) { record, set throws(StoreError) in
        var ticket = try Ticket(record)
        try ticket.end(in: &set)
      }
    ]
  }

  var operations: [OperationRecords] {
    [OperationRecords(Ticket.kind) { record, now throws(StoreError) in try Ticket(record).status(at: now) }]
  }
}
