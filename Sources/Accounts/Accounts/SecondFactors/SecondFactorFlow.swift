import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

struct SecondFactorFlow: Flow {
  private let parts: AccountParts
  private let totp: TOTPFactors

  init(_ parts: AccountParts) {
    self.parts = parts
    totp = TOTPFactors(parts.sharedSecrets, parts.logger)
  }

  var commands: [CommandKind] {
    [
      CommandKind(StartSecondFactor.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, now throws(APIError) in
        switch command.kind {
        case .phone: return try StartPhoneFactorOrder(command, envelope, at: now, parts)
        case .totp: return try StartTOTPOrder(command, envelope, at: now, parts)
        }
      },
      CommandKind(FinishSecondFactor.self, users: .requesters, isRefusedLate: true) {
        [self] command, envelope, now throws(APIError) in
        switch command.kind {
        case .phone: return try FinishPhoneFactorOrder(command, envelope, at: now, parts)
        case .totp: return try finishTOTP(command, envelope, at: now)
        }
      },
      CommandKind(WithdrawSecondFactor.self, users: .requesters, isRefusedLate: true) {
        [reader = parts.reader] command, envelope, now throws(APIError) in
        try WithdrawOrder(command, envelope, at: now, reader)
      },
    ]
  }

  var reports: [ReportKind] {
    [VerificationStarted.type, ErrorReply.type].map { PhoneStartReply.kind($0, parts.reader) }
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(PhoneStart.kind, part: MaintenancePart(rawValue: "end_phone_starts")) {
        record, set throws(StoreError) in
        try PhoneStart(record).answer(CommandAnswer(.noStartReply), in: &set)
      }
    ]
  }

  private func finishTOTP(
    _ command: FinishSecondFactor, _ envelope: Envelope, at now: UnixTime
  ) throws(APIError) -> any CommandOrder {
    let reader = parts.reader
    let asker = try SecondFactorAsker(
      idToken: command.idToken, pendingCredential: command.pendingCredential,
      project: reader.project(command.project), envelope, replyKey: command.replyKey, at: now, reader)
    guard let field = command.code else { throw .missingTOTPCode }
    let code = try reader.open(field, "code", of: envelope, replyKey: command.replyKey)
    guard !code.isEmpty else { throw .missingTOTPCode }
    switch asker {
    case .user(let caller): return try EnrollTOTPOrder(command, caller, code, envelope, at: now, parts)
    case .pending(let ids, let text):
      return try SignInWithTOTPOrder(command, (ids, text), code, envelope, parts, totp)
    }
  }
}
