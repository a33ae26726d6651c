import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

struct UpdateOrder: CommandOrder {
  let fingerprint: [UInt8]
  private let former: [[UInt8]]
  private let project: String
  private let caller: CommandCaller
  private let change: ProfileChange
  private let eventID = MessageID.make()
  private let reader: CommandReader

  init(
    _ command: UpdateAccount, _ envelope: Envelope, at now: UnixTime, _ reader: CommandReader
  ) throws(APIError) {
    project = try reader.project(command.project).id
    self.reader = reader
    caller = try CommandCaller(command.idToken, project: project, of: envelope, at: now, reader)
    change = try ProfileChange(command)
    (fingerprint, former) = reader.hashes.fingerprints("update", [project, caller.text] + change.parts)
  }

  func formerFingerprints() -> [[UInt8]] { former }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    var holder: IDTokenCheck.Holder
    switch try caller.holder(in: set, reader.rules.sessions) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): holder = found
    }
    if change.unlinksPhone, holder.account.phoneNumber != nil {
      do throws(APIError) {
        try holder.require(.removalOfNumber, reader.project(project).recentLogin, at: set.now)
      } catch {
        return CommandAnswer(error)
      }
    }
    let fields = change.apply(to: &holder.account)
    if !fields.isEmpty {
      try holder.account.store(in: &set)
      try set.announceUpdate(of: holder.account, fields: fields, eventID, cause: envelope)
    }
    return try answer(holder)
  }

  /// The profile is not recorded: the note leads to it.
  private func answer(_ holder: IDTokenCheck.Holder) throws(StoreError) -> CommandAnswer {
    var answer = try CommandAnswer(AccountChanged(account: holder.account.view))
    answer.note = SignedInNote(holder.session, isNewUser: false).bytes
    return answer
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    switch try SignedInNote(note).holder(project: project, in: set, reader.rules.sessions) {
    case .failure(let error): CommandAnswer(error)
    case .success(let holder): try answer(holder)
    }
  }
}
