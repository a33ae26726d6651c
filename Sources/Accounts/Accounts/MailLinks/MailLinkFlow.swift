import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct MailLinkFlow: Flow {
  let parts: AccountParts

  var commands: [CommandKind] {
    [
      CommandKind(SignInWithMailLink.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, now throws(APIError) in
        try MailLinkSignInOrder(command, envelope, at: now, parts)
      }
    ]
  }
}
