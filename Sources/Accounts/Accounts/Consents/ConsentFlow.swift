import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct ConsentFlow: Flow {
  let parts: AccountParts

  var commands: [CommandKind] {
    [
      CommandKind(RecordConsent.self, users: .requestersAndOperators, isRefusedLate: true) {
        [parts] command, envelope, now throws(APIError) in
        try RecordConsentOrder(command, envelope, at: now, parts)
      }
    ]
  }
}
