import CommandEngine
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import Projects

/// `account.update`: changes the profile, the address or the password of an ID token's account, or unlinks a provider.
struct UpdateOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: String
  private let caller: CommandCaller
  private let change: ProfileChange
  private let credential: CredentialChange?
  private let arrivedAt: UnixTime
  private let eventID = MessageID.make()
  private let reader: CommandReader
  private let passwords: Passwords
  private let mailLinks: MailLinks
  private let runs = MailLinkRuns()
  /// Outcome of the stage.
  private var hash: Result<PasswordHash, APIError>?

  init(
    _ command: UpdateAccount, _ envelope: Envelope, at now: UnixTime, _ parts: AccountParts
  ) throws(APIError) {
    reader = parts.reader
    passwords = parts.passwords
    mailLinks = parts.mailLinks
    let project = try reader.project(command.project)
    self.project = project.id
    arrivedAt = now
    caller = try CommandCaller(
      command.idToken, project: project.id, of: envelope, at: now, replyKey: command.replyKey, reader)
    change = try ProfileChange(command)
    credential = try CredentialChange(command, envelope, project, parts)
    fingerprints = reader.hashes.fingerprints(
      "update", [project.id, caller.text, command.replyKey ?? ""] + change.parts + (credential?.parts ?? []))
  }

  var stage: CommandStage? {
    guard caller.isValid, let password = credential?.password else { return nil }
    return CommandStage(window: .hashing, longest: Passwords.longestStage) { [self] _ throws(StoreError) in
      var order = self
      do throws(APIError) {
        order.hash = .success(try await passwords.hash(password))
      } catch {
        order.hash = .failure(error)
      }
      return order
    }
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try credential?.addKeys(to: &keys, at: now)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let holder: IDTokenCheck.Holder
    switch try caller.holder(in: set, reader.rules.sessions) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): holder = found
    }
    let made: PasswordHash?
    switch hash {
    case nil: made = nil
    case .failure(let error): return CommandAnswer(error)
    case .success(let hash): made = hash
    }
    if let refusal = try refusal(for: holder, in: &set) { return refusal }
    var changed = holder
    change.apply(to: &changed.account)
    // Without one, any ID token deletes the account, and its owner has no way back.
    if holder.account.hasTrustedWay(at: set.now), !changed.account.hasTrustedWay(at: set.now),
      let error = try refusal(of: .deletion, holder, at: arrivedAt)
    {
      return CommandAnswer(error)
    }
    credential?.apply(to: &changed.account, at: set.now)
    guard reader.linkingConsent(of: project).allows(changed.account, from: holder.account) else {
      return CommandAnswer(.consentRequired)
    }
    if let made { try changed.account.storePassword(made, in: &set) }
    try changed.account.removeLostPassword(of: holder.account, in: &set)
    if changed.account != holder.account {
      try endSessions(of: holder, changed.account, in: &set)
      try changed.account.store(in: &set)
      try AccountEvents(changed.account, eventID, envelope).changes(from: holder.account, in: &set)
      if credential != nil, let project = reader.rules.projects.current[project] {
        try mailLinks.announceChange(
          of: holder.account, to: changed.account, project, runs, cause: envelope, in: &set)
      }
    }
    return try answer(changed, at: set.now)
  }

  private func refusal(
    for holder: IDTokenCheck.Holder, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer? {
    for act in change.acts(on: holder.account) {
      if let error = try refusal(of: act, holder, at: set.now) { return CommandAnswer(error) }
    }
    guard let credential else { return nil }
    if let error = try refusal(of: .changeOfCredential, holder, at: arrivedAt) { return CommandAnswer(error) }
    guard let project = reader.rules.projects.current[project] else { return CommandAnswer(.projectNotFound) }
    return try credential.refusal(on: holder.account, project, in: &set)
  }

  private func refusal(
    of act: SensitiveAct, _ holder: IDTokenCheck.Holder, at now: UnixTime
  ) throws(StoreError) -> APIError? {
    do throws(APIError) {
      try holder.require(act, reader.project(project).recentLogin, at: now)
      return nil
    } catch {
      return error
    }
  }

  /// A thief may have one: those that a lost way began, or all after a change of address or password, but the caller's.
  private func endSessions(
    of holder: IDTokenCheck.Holder, _ account: AccountRecord, in set: inout WorkingSet
  ) throws(StoreError) {
    let sessions = Sessions(rules: reader.rules.sessions)
    if credential != nil { return try sessions.endOthers(than: holder.session, in: &set) }
    let lost = Set(holder.account.ways).subtracting(account.ways)
    guard !lost.isEmpty else { return }
    try sessions.end(
      of: account, by: Set(lost.map(SignInProvider.init(name:))), except: holder.session.id, in: &set)
  }

  /// The profile is not recorded: the note leads to it.
  private func answer(_ holder: IDTokenCheck.Holder, at now: UnixTime) throws(StoreError) -> CommandAnswer {
    var reply = AccountChanged(account: holder.account.view)
    reply.tokens = try credential.map { credential throws(StoreError) in
      try reader.idTokens.tokens(for: holder.account, holder.session, sealedFor: credential.seal, at: now)
    }
    var answer = try CommandAnswer(reply)
    answer.note = try AnswerNote(holder.session).bytes
    return answer
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    guard case .session(let id, _, _) = try AnswerNote(note) else { throw StoreError.unreadableBody }
    switch try SessionRecord.holder(of: id, project: project, reader.rules.sessions, in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let holder): return try answer(holder, at: set.now)
    }
  }
}
