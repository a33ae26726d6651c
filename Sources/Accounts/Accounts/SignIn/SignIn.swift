import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// Effect of a number or an identity that was proven: the one table of all ways to sign in.
///
/// ```
/// it opens           without ID token           with ID token
/// no account         a new account (1)          is put on the token's account (2)
/// the account        a session                  tokens of the token's session
/// another account                               is refused (3)
/// ```
/// 1. Unless another account has its address: that one is opened, and gets it too, if the provider is believed, the
///    account has room and did not unlink it; else the user has to confirm. An account that has never proven the address
///    loses everything else that opens it. What may make no account is `USER_NOT_FOUND` before that.
/// 2. Unless the account has another identity of the provider, or its address is another account's.
///    Neither 1 nor 2 joins what the user has to consent to and has not: see ``LinkingConsent``.
/// 3. A number with a temporary proof, an identity with what stands for its credential.
struct SignIn<Factor: ProvenFactor> {
  let project: String
  let factor: Factor
  let request: SignInRequest
  let cause: Envelope
  let reader: CommandReader
  let runs: SignInRuns

  private var consent: LinkingConsent { reader.linkingConsent(of: project) }
  private var sessions: Sessions { Sessions(rules: reader.rules.sessions) }

  func carryOut(in set: inout WorkingSet) throws(StoreError) -> SignInOutcome {
    let seal: ReplySeal
    do throws(APIError) {
      if let method = factor.method { try reader.requireMethod(method, of: project) }
      seal = try runs.seals.value(of: cause.identity.key) { () throws(APIError) in
        try reader.seal(request.replyKey, cause, AccountSignedIn.type)
      }
    } catch {
      return .refused(error)
    }
    var keys = StoreKeys()
    try factor.addKeys(in: project, to: &keys)
    try set.require(keys)
    let claim = try factor.claim(in: project, reader, set)
    var step = Step(
      answers: SignInAnswers(reader: reader, seal: seal),
      holder: try AccountRecord.find(holderOf: factor.key(project: project), in: set), ownsAddress: claim.ownsAddress,
      neighbor: claim.neighbor)
    if let holder = step.holder, factor.supersedes(holder), request.caller?.account != holder.id {
      (step.holder, step.superseded) = (nil, holder)
    }
    if let refusal = step.holder.flatMap(factor.refusal(by:)) {
      if refusal == .numberProvenForReal {
        set.afterCommit { [refusals = reader.rules.fictionalRefusals] in refusals.count() }
      }
      return .refused(refusal)
    }
    guard request.isLink, let caller = request.caller else { return try signIn(step, in: &set) }
    switch try caller.holder(in: set, reader.rules.sessions) {
    case .failure(let error): return .refused(error)
    case .success(let caller): return try link(to: caller, step, in: &set)
    }
  }

  private struct Step {
    let answers: SignInAnswers
    /// The account that it opens.
    var holder: AccountRecord?
    /// Whether its account alone has its address from now on.
    let ownsAddress: Bool
    /// The account that has its address.
    let neighbor: AccountRecord?
    /// The account that gives its number up once the number is put on another.
    var superseded: AccountRecord?

    /// Whether an account has the address, or may.
    func isAddressFree(for account: AccountRecord) -> Bool { neighbor.map { $0.id == account.id } ?? true }
  }

  private func desk(_ step: Step) -> RefusalDesk {
    RefusalDesk(project: project, tickets: reader.tickets, answers: step.answers, runs: runs)
  }

  // MARK: Signing in

  private func signIn(_ step: Step, in set: inout WorkingSet) throws(StoreError) -> SignInOutcome {
    guard let holder = step.holder else { return try signInFirst(step, in: &set) }
    if let caller = request.caller, caller.account != holder.id { return .refused(.userNotFound) }
    return try open(holder, step, in: &set) { account in
      factor.renew(&account, ownsAddress: step.ownsAddress && step.isAddressFree(for: account))
    }
  }

  /// Signs in with something that no account has yet.
  private func signInFirst(_ step: Step, in set: inout WorkingSet) throws(StoreError) -> SignInOutcome {
    guard request.makesAccount else { return try factor.refuse(.unknown, desk(step), in: &set) }
    if let neighbor = step.neighbor, try isDistrusted(neighbor, at: set.now) {
      try neighbor.giveUpAddress(sessions, eventID: runs.random.eventID, cause: cause, in: &set)
    } else if let neighbor = step.neighbor {
      // An address vouches for no second factor.
      guard factor.joins(neighbor), neighbor.secondFactors.isEmpty else {
        return try factor.refuse(.unconfirmed(neighbor.ways), desk(step), in: &set)
      }
      let now = set.now
      let isUnproven = try isUnproven(neighbor)
      return try open(neighbor, step, isUnproven: isUnproven, in: &set) { account in
        let trustedFrom = isUnproven ? nil : factor.trustedFrom(on: neighbor, at: now)
        factor.put(on: &account, trustedFrom: trustedFrom, ownsAddress: true, at: now)
      }
    }
    try release(step.superseded, in: &set)
    var account = try AccountRecord(runs.random.localID, project: project, at: set.now)
    account.isSelfMade = true
    factor.put(on: &account, trustedFrom: nil, ownsAddress: step.ownsAddress, at: set.now)
    return try begin(account, isNewUser: true, step, in: &set)
  }

  /// Whether the account gives the factor's address up, which its provider vouches for.
  private func isDistrusted(_ neighbor: AccountRecord, at now: UnixTime) throws(StoreError) -> Bool {
    guard factor.ownsAddress, let email = neighbor.email, neighbor.distrusts(email, at: now) else { return false }
    return try isUnproven(neighbor)
  }

  /// Whether the account has the factor's address as its own, and never proved it.
  private func isUnproven(_ neighbor: AccountRecord) throws(StoreError) -> Bool {
    guard let email = neighbor.email, neighbor.hasUnproven(email) else { return false }
    return try factor.addressKey(project: project) == AccountRecord.key(ofEmail: email, project: project)
  }

  private func open(
    _ found: AccountRecord, _ step: Step, isUnproven: Bool = false, in set: inout WorkingSet,
    _ change: (inout AccountRecord) -> Void
  ) throws(StoreError) -> SignInOutcome {
    guard !found.isDisabled else {
      return SignInOutcome(answer: CommandAnswer(.userDisabled), usesProof: factor.isSpentByRefusal)
    }
    var planned = found
    if isUnproven { planned.disownAll() }
    change(&planned)
    guard consent.allows(planned, from: found) else {
      return try factor.refuse(.consentRequired, desk(step), in: &set)
    }
    var account = found
    guard found.secondFactors.isEmpty else {
      // It has to be revoked one day, with or without a second factor.
      if let grant = factor.grant {
        account.take(grant, at: factor.provider.name)
        try account.store(in: &set)
      }
      return try begin(account, isNewUser: false, step, in: &set)
    }
    if isUnproven {
      try account.disown(in: &set)
      try sessions.endAll(of: &account, in: &set)
    }
    change(&account)
    try sessions.endFictional(of: &account, before: found, in: &set)
    let outcome = try begin(account, isNewUser: false, step, in: &set)
    try AccountEvents(account, runs.random.eventID, cause).changes(from: found, in: &set)
    return outcome
  }

  private func begin(
    _ account: AccountRecord, isNewUser: Bool, _ step: Step, in set: inout WorkingSet
  ) throws(StoreError) -> SignInOutcome {
    let first = FirstFactor(
      provider: factor.provider, reader: reader, runs: runs, cause: cause, proof: factor.proof)
    let outcome = try first.finish(account, isNewUser: isNewUser, in: &set)
    let answer = try step.answers.answer(outcome, isNewUser: isNewUser, factor.identity, at: set.now)
    return SignInOutcome(answer: answer, usesProof: true, isProofKept: true)
  }

  /// Takes a number that was never proven from the account of an identity, which goes on without it.
  private func release(_ superseded: AccountRecord?, in set: inout WorkingSet) throws(StoreError) {
    guard let superseded else { return }
    var account = superseded
    account.phoneNumber = nil
    try sessions.end(of: account, by: [.phone], in: &set)
    try account.store(in: &set)
    try AccountEvents(account, runs.random.eventID, cause).changes(from: superseded, in: &set)
  }

  // MARK: Linking

  private func link(
    to caller: IDTokenCheck.Holder, _ step: Step, in set: inout WorkingSet
  ) throws(StoreError) -> SignInOutcome {
    do throws(APIError) {
      // Since the command arrived, another one may have linked something.
      try request.check(factor.act(on: caller.account), on: caller.account, reader.project(project).recentLogin)
    } catch {
      return .refused(error)
    }
    if let refusal = factor.refusal(ofLinkTo: caller.account) { return .refused(refusal) }
    if let refusal = refusal(ofLinkTo: caller.account, step) {
      return try factor.refuse(refusal, desk(step), in: &set)
    }
    var account = caller.account
    let owns = step.ownsAddress && step.isAddressFree(for: account)
    if step.holder == nil {
      let isTrusted = request.isRecent || account.isAnonymous
      factor.put(
        on: &account, trustedFrom: isTrusted ? nil : set.now + SensitiveAct.distrust, ownsAddress: owns, at: set.now)
    } else {
      factor.renew(&account, ownsAddress: owns)
    }
    guard consent.allows(account, from: caller.account) else {
      return try factor.refuse(.consentRequired, desk(step), in: &set)
    }
    if step.holder == nil { try release(step.superseded, in: &set) }
    return try finishLink(of: account, caller, step, in: &set)
  }

  private func refusal(ofLinkTo account: AccountRecord, _ step: Step) -> SignInRefusal? {
    if let holder = step.holder { return holder.id == account.id ? nil : .alreadyLinked }
    guard factor.fits(account) else { return .alreadyLinked }
    return step.ownsAddress && !step.isAddressFree(for: account) ? .emailExists : nil
  }

  /// The caller's session goes on, unless it was one of a fictional number. A change of number ends the others: a thief
  /// may have one.
  private func finishLink(
    of changed: AccountRecord, _ caller: IDTokenCheck.Holder, _ step: Step, in set: inout WorkingSet
  ) throws(StoreError) -> SignInOutcome {
    var (account, session) = (changed, caller.session)
    try sessions.endFictional(of: &account, before: caller.account, in: &set)
    if caller.account.phoneNumber != nil, account.phoneNumber != caller.account.phoneNumber {
      try sessions.endOthers(than: session, in: &set)
    }
    try AccountEvents(account, runs.random.eventID, cause).changes(from: caller.account, in: &set)
    let goesOn = try set.record(session.id) != nil
    if account != caller.account, goesOn || !account.secondFactors.isEmpty { try account.store(in: &set) }
    guard goesOn else { return try begin(account, isNewUser: false, step, in: &set) }
    // In place: the account's other tabs, and the next refresh, follow.
    if session.provider != factor.provider {
      session.provider = factor.provider
      try session.store(sessions.rules, in: &set)
    }
    let holder = IDTokenCheck.Holder(account: account, session: session)
    let answer = try step.answers.tokens(holder, isNewUser: false, factor.identity, at: set.now)
    return SignInOutcome(answer: answer, usesProof: true, isProofKept: true)
  }
}
