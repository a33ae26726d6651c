import CommandEngine
import CountersignMessages

/// `account.noteApple`: what Apple tells about the users of Sign in with Apple.
struct AppleNoticeFlow: Flow {
  let parts: AccountParts

  var commands: [CommandKind] {
    [
      CommandKind(NoteApple.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, _ throws(APIError) in
        try NoteAppleOrder(command, envelope, parts)
      }
    ]
  }
}
