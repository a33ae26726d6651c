import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct PasswordFlow: Flow {
  let parts: AccountParts

  var commands: [CommandKind] {
    [
      CommandKind(SignInWithPassword.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, _ throws(APIError) in
        try PasswordSignInOrder(command, envelope, parts)
      },
      CommandKind(FindMethods.self, users: .requesters, isLook: true) {
        [parts] command, envelope, _ throws(APIError) in
        try FindMethodsOrder(command, envelope, parts.reader)
      },
    ]
  }
}
