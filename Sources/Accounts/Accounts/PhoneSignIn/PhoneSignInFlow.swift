import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct PhoneSignInFlow: Flow {
  /// Time for which the answer to a command that waited is recorded.
  static let retention = Duration.seconds(3600)

  private let parts: AccountParts

  init(_ parts: AccountParts) {
    self.parts = parts
  }

  var reader: CommandReader { parts.reader }
  var checks: PhoneChecks { PhoneChecks(parts: parts) }

  var commands: [CommandKind] {
    [
      CommandKind(SignInWithPhone.self, users: .requesters, isRefusedLate: true) {
        [self] command, envelope, now throws(APIError) in
        try SignInOrder(command, envelope, at: now, self)
      }
    ]
  }

  var reports: [ReportKind] {
    [CheckReply.kind(VerificationApproved.type, parts), CheckReply.kind(ErrorReply.type, parts)]
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(PhoneCheck.kind, part: MaintenancePart(rawValue: "end_phone_checks")) {
        record, set throws(StoreError) in
        var check = try PhoneCheck(record)
        try check.answerLate(in: &set)
        try check.store(in: &set)
      }
    ]
  }
}
