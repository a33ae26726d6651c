import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Revocation of tokens of Sign in with Apple, by the coordinator.
struct RevocationFlow: Flow {
  let parts: AccountParts

  var commands: [CommandKind] {
    [
      CommandKind(RevokeToken.self, users: .requesters, isRefusedLate: true) {
        [self] command, envelope, now throws(APIError) in
        try RevokeTokenOrder(command, envelope, at: now, self)
      }
    ]
  }

  var reports: [ReportKind] {
    [OperationStarted.type, OperationStatus.type, ErrorReply.type].map { RevocationReply.kind($0, self) }
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(AppleRevocation.kind, part: MaintenancePart(rawValue: "end_revocations")) {
        [self] record, set throws(StoreError) in
        var revocation = try AppleRevocation(record)
        try revocation.answerLate(in: &set)
        if revocation.waiting.isEmpty, let account = RecordID(AccountRecord.kind, revocation.account) {
          revocation.isOver = try set.record(account) == nil
        }
        if revocation.isAwaited { try look(at: &revocation, in: &set) }
        try revocation.store(in: &set)
      }
    ]
  }

  /// Asks the coordinator for the state of the operation, if it is known.
  func look(at revocation: inout AppleRevocation, in set: inout WorkingSet) throws(StoreError) {
    guard let operationID = revocation.operationID else { return }
    revocation.looks += 1
    try set.send(
      .command(
        GetOperationStatus(operationID: operationID), id: "\(revocation.id.text).\(revocation.looks)",
        correlationID: AppleRevocation.correlationID(of: revocation.id), replyTo: parts.replyQueue, cause: nil,
        deadline: set.now + AppleRevocation.patience, at: set.now))
  }
}
