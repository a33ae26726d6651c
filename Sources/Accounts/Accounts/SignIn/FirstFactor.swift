import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// A first factor that suffices, alone or with a second one: nothing else begins a session.
struct FirstFactor: Sendable {
  let provider: SignInProvider
  let reader: CommandReader
  let runs: SignInRuns
  let cause: Envelope
  /// Claims of the session, as a JSON object.
  var claims: String?
  /// Facts that renew the account once a second factor is given.
  var proof = FirstProof()

  enum Outcome {
    case session(IDTokenCheck.Holder)
    /// A second factor is still to be given.
    case pending(AccountRecord, TicketText)
  }

  /// Stores the account with a session of it, or a pending credential alone where a second factor is missing.
  ///
  /// - Parameter second: the second factor that was given.
  func finish(
    _ account: AccountRecord, isNewUser: Bool, with second: SecondFactor? = nil, in set: inout WorkingSet
  ) throws(StoreError) -> Outcome {
    if second == nil, !account.secondFactors.isEmpty { return try wait(account, in: &set) }
    let sessions = Sessions(rules: reader.rules.sessions)
    var account = account
    let session = try sessions.start(
      for: &account, isNew: isNewUser, by: provider, with: second, runs.random, claims: claims, in: &set)
    if isNewUser, account.isAnonymous { account.endsAt = session.end(sessions.rules) }
    try account.store(isNew: isNewUser, in: &set)
    let events = AccountEvents(account, runs.random.eventID, cause)
    if isNewUser { try events.created(by: provider, in: &set) }
    try events.signedIn(by: provider, with: second?.kind, isNewUser: isNewUser, in: &set)
    return .session(IDTokenCheck.Holder(account: account, session: session))
  }

  private func wait(_ account: AccountRecord, in set: inout WorkingSet) throws(StoreError) -> Outcome {
    let text = try reader.tickets.text(seed: runs.random.ticketSeed)
    let pending = PendingSignIn(of: account, by: provider, proof, claims: claims, at: set.now)
    try reader.tickets.issue(
      NewTicket(
        text: text, purpose: .secondFactor, content: pending, project: account.project,
        lifetime: PendingSignIn.lifetime), seals: runs.tickets, in: &set)
    return .pending(account, text)
  }
}
