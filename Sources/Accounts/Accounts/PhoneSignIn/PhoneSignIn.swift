import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

struct ProvenNumber: Sendable, Hashable {
  enum Source: Sendable, Hashable {
    case code, temporaryProof
  }

  /// E.164.
  let number: String
  let app: String
  /// A fictional number's fixed code proves nothing.
  let isFictional: Bool
  let source: Source
}

/// Effect of a proven number: signs in, links the number, or gives out a temporary proof.
///
/// ```
/// number           without ID token             with ID token
/// of no account    a new account (1)            is put on the token's account
/// of the account   a session                    tokens of the token's session
/// of another one                                a temporary proof; for a temporary proof PHONE_NUMBER_EXISTS
/// ```
/// (1) Neither a re-authentication nor a temporary proof makes an account: `USER_NOT_FOUND`.
struct PhoneSignIn {
  let project: String
  let proven: ProvenNumber
  let request: PhoneRequest
  let cause: Envelope
  let reader: CommandReader
  let runs: Runs

  struct Runs: Sendable {
    let random = RandomValues()
    /// By the command's identity.
    let seals = Once<String, ReplySeal>()
  }

  struct Outcome {
    var answer: CommandAnswer
    var usesProof: Bool

    /// A refusal for a reason that the proof has nothing to do with: it stays good.
    static func refused(_ error: APIError) -> Outcome { Outcome(answer: CommandAnswer(error), usesProof: false) }
  }

  private var sessions: Sessions { Sessions(rules: reader.rules.sessions) }

  static func addKeys(of request: PhoneRequest, to keys: inout StoreKeys) throws(StoreError) {
    guard let caller = request.caller else { return }
    caller.addKeys(to: &keys)
    if let account = caller.account { keys.add(group: try SessionRecord.group(ofAccount: account)) }
  }

  func carryOut(in set: inout WorkingSet) throws(StoreError) -> Outcome {
    let seal: ReplySeal
    do throws(APIError) {
      try reader.requireMethod(.phone, of: project)
      seal = try runs.seals.value(of: cause.identity.key) { () throws(APIError) in
        try reader.seal(request.replyKey, cause, AccountSignedIn.type)
      }
    } catch {
      return .refused(error)
    }
    let holder = try AccountRecord.find(
      holderOf: AccountRecord.key(ofNumber: proven.number, project: project), in: set)
    if let holder, proven.isFictional, !holder.isNumberFictional {
      set.afterCommit { [refusals = reader.rules.fictionalRefusals] in refusals.count() }
      return .refused(.numberProvenForReal)
    }
    guard request.isLink, let caller = request.caller else { return try signIn(holder, seal, in: &set) }
    switch try caller.holder(in: set, reader.rules.sessions) {
    case .failure(let error): return .refused(error)
    case .success(let caller): return try link(to: caller, holder, seal, in: &set)
    }
  }

  // MARK: Signing in

  private func signIn(
    _ holder: AccountRecord?, _ seal: ReplySeal, in set: inout WorkingSet
  ) throws(StoreError) -> Outcome {
    guard var account = holder else { return try signUp(seal, in: &set) }
    guard !account.isDisabled else { return .refused(.userDisabled) }
    if let caller = request.caller, caller.account != account.id { return .refused(.userNotFound) }
    try endFictionalSessions(of: &account, in: &set)
    let session = try sessions.start(for: &account, by: .phone, runs.random, in: &set)
    try account.store(in: &set)
    return try signedIn(account, session, isNewUser: false, seal, at: set.now)
  }

  private func signUp(_ seal: ReplySeal, in set: inout WorkingSet) throws(StoreError) -> Outcome {
    guard request.operation != .reauthenticate, proven.source == .code else { return .refused(.userNotFound) }
    var account = try AccountRecord(runs.random.localID, project: project, at: set.now)
    account.phoneNumber = proven.number
    account.isNumberFictional = proven.isFictional
    let session = try sessions.start(for: &account, isNew: true, by: .phone, runs.random, in: &set)
    try account.store(isNew: true, in: &set)
    try set.announceCreation(of: account, provider: .phone, cause: cause)
    return try signedIn(account, session, isNewUser: true, seal, at: set.now)
  }

  /// Anyone who knows the fixed code of a fictional number may have had sessions. With the first real proof they end.
  private func endFictionalSessions(of account: inout AccountRecord, in set: inout WorkingSet) throws(StoreError) {
    guard account.isNumberFictional, !proven.isFictional else { return }
    try sessions.endAll(of: &account, in: &set)
    account.isNumberFictional = false
  }

  private func signedIn(
    _ account: AccountRecord, _ session: SessionRecord, isNewUser: Bool, _ seal: ReplySeal, at now: UnixTime
  ) throws(StoreError) -> Outcome {
    let holder = IDTokenCheck.Holder(account: account, session: session)
    let answer = try AccountSignedIn.answer(
      holder, isNewUser: isNewUser, sealedFor: seal, reader.idTokens, at: now)
    return Outcome(answer: answer, usesProof: true)
  }

  // MARK: Linking

  private func link(
    to caller: IDTokenCheck.Holder, _ holder: AccountRecord?, _ seal: ReplySeal, in set: inout WorkingSet
  ) throws(StoreError) -> Outcome {
    do throws(APIError) {
      // Since the command arrived, another one may have linked a number.
      try request.checkLink(
        to: caller.account, number: proven.number, reader.project(project).recentLogin)
    } catch {
      return .refused(error)
    }
    if let holder, holder.id != caller.account.id { return try refuseLink(to: holder, seal, in: &set) }
    var (account, session) = (caller.account, caller.session)
    let wasFictional = account.isNumberFictional
    try endFictionalSessions(of: &account, in: &set)
    if wasFictional, !account.isNumberFictional {
      session = try sessions.start(for: &account, by: .phone, runs.random, in: &set)
    }
    if holder == nil { try putNumber(on: &account, of: session, in: &set) }
    if account != caller.account { try account.store(in: &set) }
    // In place: the account's other tabs, and the next refresh, follow.
    if session.provider != .phone {
      session.provider = .phone
      try session.store(sessions.rules, in: &set)
    }
    return try signedIn(account, session, isNewUser: false, seal, at: set.now)
  }

  /// A change ends the other sessions: a thief may have one.
  private func putNumber(
    on account: inout AccountRecord, of session: SessionRecord, in set: inout WorkingSet
  ) throws(StoreError) {
    if account.phoneNumber != nil { try sessions.endOthers(than: session, in: &set) }
    account.numberTrustedFrom = request.isRecent || account.isAnonymous ? nil : set.now + SensitiveAct.distrust
    account.phoneNumber = proven.number
    account.isNumberFictional = proven.isFictional
    account.isAnonymous = false
    try set.announceUpdate(of: account, fields: [AccountField.phoneNumber], runs.random.eventID, cause: cause)
  }

  /// Another account has the number: a user who just entered its code may sign in to that one.
  private func refuseLink(
    to holder: AccountRecord, _ seal: ReplySeal, in set: inout WorkingSet
  ) throws(StoreError) -> Outcome {
    guard proven.source == .code else {
      return Outcome(answer: CommandAnswer(.phoneNumberExists), usesProof: true)
    }
    guard let text = TemporaryProof.Text(seed: runs.random.proofSeed, reader.hashes) else {
      throw StoreError.unreadableBody
    }
    let proof = TemporaryProof(
      id: text.id, project: project, phoneNumber: proven.number, app: proven.app, isFictional: proven.isFictional,
      expiresAt: set.now + TemporaryProof.lifetime)
    try proof.store(in: &set)
    return Outcome(
      answer: try AccountSignedIn.answer(text, proof, sealedFor: seal, at: set.now), usesProof: true)
  }
}
