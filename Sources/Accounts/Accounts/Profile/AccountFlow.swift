import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct AccountFlow: Flow {
  private let reader: CommandReader
  private let anonymous: AnonymousMetrics
  private let deletion: Deletion
  let dueRecords: [DueRecords]

  init(_ parts: AccountParts) {
    reader = parts.reader
    anonymous = AnonymousMetrics(parts.metrics)
    deletion = parts.deletion
    dueRecords = [AnonymousEnd(deletion: parts.deletion, metrics: anonymous).dueRecords]
  }

  var commands: [CommandKind] {
    [
      CommandKind(SignUp.self, users: .requesters, isRefusedLate: true) {
        [reader, anonymous] command, envelope, _ throws(APIError) in
        try SignUpOrder(command, envelope, reader, anonymous)
      },
      CommandKind(LookUpAccount.self, users: .requesters, isLook: true) {
        [reader] command, envelope, now throws(APIError) in
        try LookUpOrder(command, envelope, at: now, reader)
      },
      CommandKind(UpdateAccount.self, users: .requesters, isRefusedLate: true) {
        [reader] command, envelope, now throws(APIError) in
        try UpdateOrder(command, envelope, at: now, reader)
      },
      CommandKind(DeleteAccount.self, users: .requesters, isRefusedLate: true) {
        [reader, deletion] command, envelope, now throws(APIError) in
        try DeleteOrder(command, envelope, at: now, reader, deletion)
      },
    ]
  }
}
