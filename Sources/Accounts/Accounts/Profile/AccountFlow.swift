import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct AccountFlow: Flow {
  private let parts: AccountParts
  private let anonymous: AnonymousMetrics
  private let deletion: Deletion
  let dueRecords: [DueRecords]

  init(_ parts: AccountParts) {
    self.parts = parts
    anonymous = AnonymousMetrics(parts.metrics)
    deletion = parts.deletion
    dueRecords = [AnonymousEnd(deletion: parts.deletion, metrics: anonymous).dueRecords]
  }

  var commands: [CommandKind] {
    [
      CommandKind(SignUp.self, users: .requesters, isRefusedLate: true) {
        [parts, anonymous] command, envelope, now throws(APIError) in
        if let credential = command.credential {
          return try PasswordSignUpOrder(command, credential, envelope, at: now, parts)
        }
        return try SignUpOrder(command, envelope, parts.reader, anonymous)
      },
      CommandKind(LookUpAccount.self, users: .requesters, isLook: true) {
        [reader = parts.reader] command, envelope, now throws(APIError) in
        try LookUpOrder(command, envelope, at: now, reader)
      },
      CommandKind(UpdateAccount.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, now throws(APIError) in
        try UpdateOrder(command, envelope, at: now, parts)
      },
      CommandKind(DeleteAccount.self, users: .requesters, isRefusedLate: true) {
        [reader = parts.reader, deletion] command, envelope, now throws(APIError) in
        try DeleteOrder(command, envelope, at: now, reader, deletion)
      },
    ]
  }
}
