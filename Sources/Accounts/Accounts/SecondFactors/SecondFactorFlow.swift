import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

struct SecondFactorFlow: Flow {
  private let parts: AccountParts

  init(_ parts: AccountParts) {
    self.parts = parts
  }

  var commands: [CommandKind] {
    [
      CommandKind(StartSecondFactor.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, now throws(APIError) in
        switch command.kind {
        case .phone: try StartPhoneFactorOrder(command, envelope, at: now, parts)
        case .totp: throw .methodOff(.totp)
        }
      },
      CommandKind(FinishSecondFactor.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, now throws(APIError) in
        switch command.kind {
        case .phone: try FinishPhoneFactorOrder(command, envelope, at: now, parts)
        case .totp: throw .methodOff(.totp)
        }
      },
    ]
  }

  var reports: [ReportKind] { [VerificationStarted.type, ErrorReply.type].map(PhoneStartReply.kind) }

  var dueRecords: [DueRecords] {
    [
      DueRecords(PhoneStart.kind, part: MaintenancePart(rawValue: "end_phone_starts")) {
        record, set throws(StoreError) in
        try PhoneStart(record).answer(CommandAnswer(.noStartReply), in: &set)
      }
    ]
  }
}
