import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.reset`: tests delete the accounts of a project. In development only.
struct ResetFlow: Flow {
  private let parts: AccountParts

  init(_ parts: AccountParts) {
    self.parts = parts
  }

  var commands: [CommandKind] {
    [
      CommandKind(ResetAccounts.self, users: .requesters) { [parts] command, envelope, now throws(APIError) in
        guard parts.rules.isDevelopment else { throw .developmentOnly }
        // Checked here, before its stage: an old one would delete what later tests have made.
        guard CommandAge.least(of: envelope.timestamp, at: now) ?? .zero <= parts.rules.maxCommandAge else {
          throw .requesterGone
        }
        return ResetOrder(try parts.reader.project(command.project).id, parts)
      }
    ]
  }
}

/// Deletes account after account in its stage. What a crash leaves, the next attempt deletes. One that was answered
/// deletes nothing when it arrives again: the accounts were made since.
private struct ResetOrder: CommandOrder {
  /// Accounts of one transaction. Each may have many sessions.
  static let batch = 32

  let fingerprint: [UInt8]
  private let project: String
  private let deletion: Deletion
  private var deleted = 0

  init(_ project: String, _ parts: AccountParts) {
    self.project = project
    deletion = parts.deletion
    fingerprint = parts.hashes.hash("reset", [project])
  }

  var stage: CommandStage? {
    CommandStage(changesStore: true) { [self] access throws(StoreError) in
      var order = self
      while !Task.isCancelled {
        let count = try await deleteSome(access)
        order.deleted += count
        if count == 0 { break }
      }
      return order
    }
  }

  private func deleteSome(_ access: StageAccess) async throws(StoreError) -> Int {
    let group = try AccountRecord.group(ofProject: project)
    return try await access.transact { [deletion] set throws(StoreError) in
      let records = try set.group(group, StoreKeys.GroupPage(limit: Self.batch)).records
      var keys = StoreKeys()
      for record in records {
        keys.add(group: try SessionRecord.group(ofAccount: record.id))
        keys.add(record: try PasswordRecord.id(of: record.id))
      }
      try set.require(keys)
      for record in records {
        try deletion.delete(AccountRecord(record), cause: nil, in: &set)
      }
      return records.count
    }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    var answer = try CommandAnswer(AccountsReset(deleted: deleted))
    answer.isOfStage = true
    return answer
  }
}
