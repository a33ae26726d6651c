import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Making, showing, changing and deleting accounts.
struct AccountFlow: Flow {
  private let reader: CommandReader

  init(_ parts: AccountParts) {
    reader = parts.reader
  }

  var commands: [CommandKind] {
    [
      CommandKind(SignUp.self, users: .requesters, isRefusedLate: true) {
        [reader] command, envelope, _ throws(APIError) in
        try SignUpOrder(command, envelope, reader)
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
        [reader] command, envelope, now throws(APIError) in
        try DeleteOrder(command, envelope, at: now, reader)
      },
    ]
  }
}
