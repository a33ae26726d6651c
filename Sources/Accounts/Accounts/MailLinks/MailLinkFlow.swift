import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct MailLinkFlow: Flow {
  let parts: AccountParts

  var commands: [CommandKind] {
    [
      CommandKind(SendMailLink.self, users: .requestersAndOperators, isRefusedLate: true) {
        [parts] command, envelope, now throws(APIError) in
        try SendMailLinkOrder(command, envelope, at: now, parts)
      },
      CommandKind(ApplyMailLink.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, _ throws(APIError) in
        try ApplyMailLinkOrder(command, envelope, parts)
      },
      CommandKind(SignInWithMailLink.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, now throws(APIError) in
        try MailLinkSignInOrder(command, envelope, at: now, parts)
      },
    ]
  }
}
