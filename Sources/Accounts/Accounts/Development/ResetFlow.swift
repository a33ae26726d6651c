import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.reset`: tests delete the accounts of a project. In development only.
struct ResetFlow: Flow {
  /// Waits for a time, unless the task is canceled meanwhile.
  typealias Pause = @Sendable (Duration) async -> Void

  private let parts: AccountParts
  private let pause: Pause

  init(_ parts: AccountParts, pause: @escaping Pause) {
    self.parts = parts
    self.pause = pause
  }

  var commands: [CommandKind] {
    [
      CommandKind(ResetAccounts.self, users: .requesters) { [parts, pause] command, envelope, now throws(APIError) in
        guard parts.rules.isDevelopment else { throw .developmentOnly }
        // Checked here, before its stage: an old one would delete what later tests have made.
        guard CommandAge.least(of: envelope.timestamp, at: now) ?? .zero <= parts.rules.maxCommandAge else {
          throw .requesterGone
        }
        return ResetOrder(try parts.reader.project(command.project).id, parts, pause)
      }
    ]
  }
}

/// Deletes account after account in its stage, and waits for the end of all erasures. What a crash leaves, the next
/// attempt deletes. One that was answered deletes nothing when it arrives again: the accounts were made since.
private struct ResetOrder: CommandOrder {
  /// Accounts of one transaction. Each may have many sessions.
  static let batch = 32
  /// Longest wait for others to erase what they know of users. What they have not erased by then is given up, so that a
  /// stack without one of them can be emptied too.
  static let patience = Duration.seconds(4)
  static let lookInterval = Duration.milliseconds(20)

  let fingerprint: [UInt8]
  private let project: String
  private let deletion: Deletion
  private let pause: ResetFlow.Pause
  private var deleted = 0

  init(_ project: String, _ parts: AccountParts, _ pause: @escaping ResetFlow.Pause) {
    self.project = project
    self.pause = pause
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
      try await endErasures(access)
      if Task.isCancelled { throw StoreError(.unavailable, "the reset was ended before its end") }
      return order
    }
  }

  private func endErasures(_ access: StageAccess) async throws(StoreError) {
    let end = access.now() + Self.patience
    while !Task.isCancelled, try await isErasing(access, givingUp: access.now() >= end) {
      if access.now() < end { await pause(Self.lookInterval) }
    }
  }

  private func isErasing(_ access: StageAccess, givingUp: Bool) async throws(StoreError) -> Bool {
    let group = try Erasure.group(ofProject: project)
    return try await access.transact { [deletion] set throws(StoreError) in
      let records = try set.group(group, StoreKeys.GroupPage(limit: givingUp ? Self.batch : 1)).records
      if givingUp {
        for record in records { try deletion.eraser.giveUp(Erasure(record), in: &set) }
      }
      return !records.isEmpty
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
