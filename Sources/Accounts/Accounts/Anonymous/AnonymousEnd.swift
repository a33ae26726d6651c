import CommandEngine
import CountersignTelemetry

/// The end of an anonymous account: with its last session, since nothing else opens it.
struct AnonymousEnd: Sendable {
  let deletion: Deletion
  let metrics: AnonymousMetrics

  var dueRecords: DueRecords {
    DueRecords(AccountRecord.kind, part: MaintenancePart(rawValue: "end_anonymous_accounts")) {
      record, set throws(StoreError) in
      try end(record, in: &set)
    }
  }

  /// Deletes the account, or puts its end off to that of its sessions, which were used since.
  private func end(_ due: Record, in set: inout WorkingSet) throws(StoreError) {
    guard
      var account = try AccountRecord.find(due.id, project: AccountRecord(due).project, in: set)
    else { return }
    account.endsAt = try deletion.sessions.end(of: account, in: set)
    guard account.isAnonymous, account.endsAt == nil else { return try account.store(in: &set) }
    try deletion.delete(account, cause: nil, in: &set)
    metrics.countEnded(in: &set)
  }
}
