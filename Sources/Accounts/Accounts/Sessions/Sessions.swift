import CommandEngine
import CountersignTelemetry

struct Sessions: Sendable {
  let rules: SessionRules

  /// The oldest sessions make room for it.
  func start(
    for account: inout AccountRecord, isNew: Bool = false, by firstFactor: SignInProvider,
    with second: SecondFactor? = nil, _ random: RandomValues, claims: String? = nil, in set: inout WorkingSet
  ) throws(StoreError) -> SessionRecord {
    if !isNew { try makeRoom(in: account, &set) }
    // With clocks of two hosts, the account may have ended earlier sessions a moment later than now.
    let now = max(set.now, account.validSince)
    guard var session = SessionRecord(of: account, by: firstFactor, random, at: now) else {
      throw StoreError.unreadableBody
    }
    session.claims = claims
    (session.secondFactor, session.enrollmentID) = (second?.kind, second?.enrollmentID)
    try session.store(rules, isNew: true, in: &set)
    account.lastLoginAt = set.now
    return session
  }

  private func makeRoom(in account: AccountRecord, _ set: inout WorkingSet) throws(StoreError) {
    let sessions = try all(of: account, in: set)
    guard sessions.count >= rules.perAccount else { return }
    let oldest = sessions.sorted { ($0.authTime, $0.id.text) < ($1.authTime, $1.id.text) }
    for session in oldest.prefix(sessions.count - rules.perAccount + 1) { try set.remove(session.id) }
  }

  /// Ends the sessions that some first factors began.
  func end(
    of account: AccountRecord, by firstFactors: Set<SignInProvider>, except kept: RecordID? = nil,
    in set: inout WorkingSet
  ) throws(StoreError) {
    for session in try all(of: account, in: set) where firstFactors.contains(session.firstFactor) {
      if session.id != kept { try set.remove(session.id) }
    }
  }

  /// Ends all sessions, and voids the ID tokens from before.
  func endAll(of account: inout AccountRecord, in set: inout WorkingSet) throws(StoreError) {
    try removeAll(of: account, in: &set)
    account.validSince = max(account.validSince, UnixTime(seconds: set.now.seconds))
  }

  /// Anyone who knows the fixed code of a fictional number may have had sessions. With the first real proof they end.
  func endFictional(
    of account: inout AccountRecord, before: AccountRecord, in set: inout WorkingSet
  ) throws(StoreError) {
    guard before.isNumberFictional, !account.isNumberFictional else { return }
    try endAll(of: &account, in: &set)
  }

  /// ID tokens of the session go on.
  func endOthers(than session: SessionRecord, in set: inout WorkingSet) throws(StoreError) {
    for record in try set.group(SessionRecord.group(ofAccount: session.account)).records where record.id != session.id {
      try set.remove(record.id)
    }
  }

  /// The account's number and addresses are free again.
  func delete(_ account: AccountRecord, in set: inout WorkingSet) throws(StoreError) {
    try removeAll(of: account, in: &set)
    if account.hasPassword { try set.remove(PasswordRecord.id(of: account.id)) }
    try set.remove(account.id)
  }

  func end(of account: AccountRecord, in set: WorkingSet) throws(StoreError) -> UnixTime? {
    try all(of: account, in: set).filter { !$0.isOver(at: set.now, of: account, rules) }.map { $0.end(rules) }.max()
  }

  private func removeAll(of account: AccountRecord, in set: inout WorkingSet) throws(StoreError) {
    for record in try set.group(SessionRecord.group(ofAccount: account.id)).records { try set.remove(record.id) }
  }

  /// A page of a group holds all: ``SessionRules/perAccount`` is less.
  func all(of account: AccountRecord, in set: WorkingSet) throws(StoreError) -> [SessionRecord] {
    var sessions: [SessionRecord] = []
    for record in try set.group(SessionRecord.group(ofAccount: account.id)).records {
      sessions.append(try SessionRecord(record))
    }
    return sessions
  }

  func noteUse(
    of session: SessionRecord, _ account: AccountRecord, in set: inout WorkingSet
  ) throws(StoreError) -> Bool {
    var isChanged = false
    if set.now - session.lastUsedAt >= rules.notedEvery {
      var session = session
      session.lastUsedAt = set.now
      try session.store(rules, in: &set)
      isChanged = true
    }
    if account.lastRefreshAt.map({ set.now - $0 >= rules.notedEvery }) ?? true {
      var account = account
      account.lastRefreshAt = set.now
      try account.store(in: &set)
      isChanged = true
    }
    return isChanged
  }
}
