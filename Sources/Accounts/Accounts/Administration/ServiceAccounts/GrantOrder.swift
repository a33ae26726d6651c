import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.grantAccess`: an access token for an assertion, which may come again until it expires.
struct GrantOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let assertion: AccountAssertion
  private let name: ServiceAccountName
  /// Reason to refuse the command unless it was answered before.
  private let refusal: APIError?
  private let tickets: Tickets
  private let seal: ReplySeal
  private let seals = Once<RecordID, String>()
  private let random = RandomValues()

  init(_ command: GrantAccess, _ envelope: Envelope, at now: UnixTime, _ reader: CommandReader) throws(APIError) {
    seal = try ReplySeal(key: command.replyKey, envelope, AccessGranted.type)
    let text = try reader.open(command.assertion, "assertion", of: envelope, replyKey: command.replyKey)
    guard let assertion = AccountAssertion(text), let name = assertion.issuer,
      reader.rules.projects.current[name.project] != nil
    else { throw .invalidGrant("it is not signed by a service account with RS256") }
    guard assertion.keyID != nil else { throw .invalidGrant("it names no key") }
    let audiences = assertion.claims.texts("aud")
    guard reader.rules.isDevelopment || audiences.contains(where: reader.rules.tokenURIs.contains) else {
      throw .invalidGrant("its audience is not one of 'administrators.tokenURIs' in the configuration of accounts")
    }
    refusal = AccountAssertion.fault(ofTimes: assertion.claims, at: now).map(APIError.invalidGrant)
    (self.assertion, self.name) = (assertion, name)
    tickets = reader.tickets
    fingerprints = reader.fingerprints(of: command, [text.reveal()])
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    if let id = name.id { keys.add(record: id) }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    if let refusal { return CommandAnswer(refusal) }
    guard let account = try ServiceAccountRecord.find(name, in: set), !account.isDisabled,
      let key = assertion.key(of: account)
    else { return CommandAnswer(.invalidGrant("its service account or key is unknown, or did not sign it")) }
    let grant = AccessGrant(madeAt: account.createdAt, keyID: key.id, roles: account.roles)
    let text = try tickets.text(seed: random.ticketSeed)
    let ticket = try tickets.issue(
      NewTicket(text: text, purpose: .accessToken, content: grant, project: name.project), seals: seals, in: &set)
    return try answer(text, ticket, at: set.now)
  }

  private func answer(_ text: TicketText, _ ticket: Ticket, at now: UnixTime) throws(StoreError) -> CommandAnswer {
    let reply = AccessGranted(
      accessToken: try seal.once(PresentedAccessToken.text(text, of: name)),
      expiresIn: Int(clamping: (ticket.expiresAt - now).components.seconds))
    var answer = try CommandAnswer(reply)
    answer.note = text.seed
    return answer
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    for text in tickets.texts(seed: note) {
      let found: OpenTicket<AccessGrant>? = try tickets.find([text.id], .accessToken, project: name.project, in: set)
      if let found { return try answer(text, found.ticket, at: set.now) }
    }
    return CommandAnswer(.invalidGrant("it was granted before, and that has expired"))
  }
}

extension APIError {
  /// - Parameter fault: what is wrong with the assertion.
  static func invalidGrant(_ fault: String) -> APIError {
    APIError(.invalidGrant, "the assertion is not good for an access token: \(fault)", field: "assertion")
  }
}
