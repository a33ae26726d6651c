import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// A first factor that suffices: nothing else begins a session.
struct FirstFactor: Sendable {
  let provider: SignInProvider
  let sessions: Sessions
  let random: RandomValues
  let cause: Envelope
  /// Claims of the session, as a JSON object.
  var claims: String?

  /// Stores the account, with a session of it.
  func finish(
    _ account: AccountRecord, isNewUser: Bool, in set: inout WorkingSet
  ) throws(StoreError) -> IDTokenCheck.Holder {
    var account = account
    let session = try sessions.start(
      for: &account, isNew: isNewUser, by: provider, random, claims: claims, in: &set)
    if isNewUser, account.isAnonymous { account.endsAt = session.end(sessions.rules) }
    try account.store(isNew: isNewUser, in: &set)
    let events = AccountEvents(account, random.eventID, cause)
    if isNewUser { try events.created(by: provider, in: &set) }
    try events.signedIn(by: provider, isNewUser: isNewUser, in: &set)
    return IDTokenCheck.Holder(account: account, session: session)
  }
}
