import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.update`: changes the profile of an ID token's account, or unlinks its number.
struct UpdateOrder: CommandOrder {
  let fingerprint: [UInt8]
  private let former: [[UInt8]]
  private let project: String
  private let caller: CommandCaller
  private let change: ProfileChange
  /// `nil` when no tokens are asked for.
  private let seal: ReplySeal?
  private let envelope: Envelope
  private let reader: CommandReader

  init(
    _ command: UpdateAccount, _ envelope: Envelope, at now: UnixTime, _ reader: CommandReader
  ) throws(APIError) {
    project = try reader.project(command.project).id
    self.envelope = envelope
    self.reader = reader
    caller = try CommandCaller(
      command.idToken, project: project, of: envelope, replyKey: command.replyKey, at: now, reader)
    change = try ProfileChange(command)
    let returnsTokens = command.returnTokens ?? false
    seal = returnsTokens ? try reader.seal(command.replyKey, envelope, AccountChanged.type) : nil
    (fingerprint, former) = reader.hashes.fingerprints(
      "update", [project, caller.text, returnsTokens ? "tokens" : ""] + change.parts)
  }

  func formerFingerprints() -> [[UInt8]] { former }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) { caller.check?.addKeys(to: &keys) }

  func addMoreKeys(to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    try SignedInNote.recorded(for: envelope, in: set)?.addKeys(to: &keys)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    var holder: IDTokenCheck.Holder
    switch try caller.holder(in: set, reader.rules.sessions) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): holder = found
    }
    let fields = change.apply(to: &holder.account)
    if !fields.isEmpty {
      try holder.account.store(in: &set)
      try set.announceUpdate(of: holder.account, fields: fields, cause: envelope)
    }
    return try answer(holder, at: set.now)
  }

  /// Neither tokens nor the profile are recorded: the note leads to both.
  private func answer(_ holder: IDTokenCheck.Holder, at now: UnixTime) throws(StoreError) -> CommandAnswer {
    var reply = AccountChanged(account: holder.account.view)
    if let seal {
      reply.tokens = try reader.idTokens.tokens(for: holder.account, holder.session, sealedFor: seal, at: now)
    }
    var answer = try CommandAnswer(reply)
    answer.note = SignedInNote(holder.session, isNewUser: false).bytes
    return answer
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    switch try SignedInNote(note).holder(project: project, in: set, reader.rules.sessions) {
    case .failure(let error): CommandAnswer(error)
    case .success(let holder): try answer(holder, at: set.now)
    }
  }
}
