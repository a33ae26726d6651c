import CommandEngine
import CountersignCryptography
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

  var commands: [CommandKind] {
    [
      CommandKind(SignInWithPhone.self, users: .requesters, isRefusedLate: true) {
        [self] command, envelope, now throws(APIError) in
        try SignInOrder(command, envelope, at: now, self)
      }
    ]
  }

  var reports: [ReportKind] {
    [CheckReply.kind(VerificationApproved.type, reader), CheckReply.kind(ErrorReply.type, reader)]
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

  /// Its ID is that of the check: the coordinator compares the code once, and answers alike.
  func command(
    for code: PhoneCode, _ check: PhoneCheck, cause: Envelope, deadline: UnixTime, at now: UnixTime
  ) throws(StoreError) -> OutgoingMessage {
    let context = SealContext(
      messageType: CheckVerification.type, messageID: check.id.text, recipient: code.verificationID)
    let sealed: SecretField
    do throws(SealError) {
      sealed = try parts.sealer.seal(code.code, for: context)
    } catch {
      throw StoreError(.content, "the code of a check \(error)")
    }
    return try .command(
      CheckVerification(
        verificationID: code.verificationID, code: sealed, app: code.app, purpose: .signIn,
        client: code.address.map { StartVerification.Client(ip: $0) }),
      id: check.id.text, correlationID: CheckReply.correlationID(of: check), replyTo: parts.replyQueue, cause: cause,
      deadline: deadline, at: now)
  }
}
