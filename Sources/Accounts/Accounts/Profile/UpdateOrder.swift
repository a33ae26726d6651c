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
    let holder: IDTokenCheck.Holder
    switch try caller.holder(in: set, reader.rules.sessions) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): holder = found
    }
    var changed = holder
    change.apply(to: &changed.account)
    do throws(APIError) {
      let rules = try reader.project(project).recentLogin
      for act in change.acts(on: holder.account) { try holder.require(act, rules, at: set.now) }
      // Without one, any ID token deletes the account, and its owner has no way back.
      if holder.account.hasTrustedWay(at: set.now), !changed.account.hasTrustedWay(at: set.now) {
        try holder.require(.deletion, rules, at: set.now)
      }
    } catch {
      return CommandAnswer(error)
    }
    if changed.account != holder.account {
      try endSessions(of: holder, lostBy: changed.account, in: &set)
      try changed.account.store(in: &set)
      try AccountEvents(changed.account, eventID, envelope).changes(from: holder.account, in: &set)
    }
    return try answer(changed)
  }

  /// A thief may have one: those that a lost way began, but the caller's.
  private func endSessions(
    of holder: IDTokenCheck.Holder, lostBy account: AccountRecord, in set: inout WorkingSet
  ) throws(StoreError) {
    let lost = Set(holder.account.ways).subtracting(account.ways)
    guard !lost.isEmpty else { return }
    try Sessions(rules: reader.rules.sessions).end(
      of: account, by: Set(lost.map(SignInProvider.init(name:))), except: holder.session.id, in: &set)
  }

  /// The profile is not recorded: the note leads to it.
  private func answer(_ holder: IDTokenCheck.Holder) throws(StoreError) -> CommandAnswer {
    var answer = try CommandAnswer(AccountChanged(account: holder.account.view))
    answer.note = try AnswerNote(holder.session).bytes
    return answer
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    guard case .session(let id, _, _) = try AnswerNote(note) else { throw StoreError.unreadableBody }
    switch try SessionRecord.holder(of: id, project: project, reader.rules.sessions, in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let holder): return try answer(holder)
    }
  }
}
