import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.signInWithMailLink`: signs in with the code of a link, or adds its address to the account of an ID token.
struct MailLinkSignInOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: Project
  private let email: String
  /// IDs of the ticket that the code may be.
  private let ids: [RecordID]
  private let request: SignInRequest
  private let arrivedAt: UnixTime
  private let seal: ReplySeal
  /// Reason to refuse the command unless it was answered before.
  private let refusal: APIError?
  private let reader: CommandReader
  private let runs = SignInRuns()
  private let disowningID = MessageID.make()

  init(
    _ command: SignInWithMailLink, _ envelope: Envelope, at now: UnixTime, _ parts: AccountParts
  ) throws(APIError) {
    let reader = parts.reader
    let project = try reader.project(command.project)
    if let app = command.app, project.app(id: app) == nil { throw .appNotFound }
    seal = try reader.seal(command.replyKey, envelope, AccountSignedIn.type)
    let credential = try MailLinkCredential(
      reader.open(command.credential, "credential", of: envelope, replyKey: command.replyKey))
    guard let code = credential.code, !code.isEmpty else { throw .missingOobCode }
    email = try MailAddress.read(credential.email)
    ids = reader.tickets.ids(of: Secret(code))
    let idToken = try command.idToken.map { field throws(APIError) in
      try reader.open(field, "idToken", of: envelope, replyKey: command.replyKey)
    }
    fingerprints = reader.fingerprints(
      of: command, [project.id, command.app ?? "", email, code, idToken?.reveal() ?? ""])
    var refusal: APIError?
    var caller: IDTokenCheck?
    do throws(APIError) {
      caller = try idToken.map { token throws(APIError) in
        IDTokenCheck(token: try reader.idTokens.verify(token, project: project.id, at: now))
      }
    } catch {
      // A command that was answered before the token expired is answered alike.
      refusal = error
    }
    self.refusal = refusal
    request = SignInRequest(caller: caller, isLink: caller != nil, makesAccount: true, replyKey: command.replyKey)
    self.reader = reader
    self.project = project
    arrivedAt = now
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    for id in ids { keys.add(record: id) }
    keys.add(holderOf: try AccountRecord.key(ofEmail: email, project: project.id))
    ProjectSettings.addKeys(of: project.id, to: &keys)
    try request.addKeys(to: &keys)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    if let refusal { return CommandAnswer(refusal) }
    do throws(APIError) {
      try reader.requireMethod(.emailLink, of: project.id)
    } catch {
      return CommandAnswer(error)
    }
    var request = request
    switch try request.caller?.holder(in: set, reader.rules.sessions) {
    case nil: break
    case .failure(let error): return CommandAnswer(error)
    case .success(let holder): request.isRecent = holder.isRecent(at: arrivedAt)
    }
    // Nothing is used up for a requester that has given up.
    guard PhoneCheck.deadline(of: envelope, at: set.now) != nil else { return CommandAnswer(.requesterGone) }
    let ticket: Ticket
    switch try proven(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): ticket = found
    }
    if !request.isLink { try disown(cause: envelope, in: &set) }
    let signIn = SignIn(
      project: project.id, factor: ProvenEmail(email: email), request: request, cause: envelope, reader: reader,
      runs: runs)
    let outcome = try signIn.carryOut(in: &set)
    if outcome.usesProof { try set.remove(ticket.id) }
    return outcome.answer
  }

  private func holder(in set: WorkingSet) throws(StoreError) -> AccountRecord? {
    try AccountRecord.find(holderOf: AccountRecord.key(ofEmail: email, project: project.id), in: set)
  }

  private func proven(in set: WorkingSet) throws(StoreError) -> Result<Ticket, APIError> {
    let found: OpenTicket<MailLinkTicket>? = try reader.tickets.find(
      ids, .mailLink, project: project.id, evenExpired: true, in: set)
    guard let found, found.content.purpose == .signIn else { return .failure(.invalidOobCode) }
    guard set.now < found.ticket.expiresAt else { return .failure(.expiredOobCode) }
    guard found.content.email.normalizedAddress == email.normalizedAddress else { return .failure(.otherAddress) }
    let holder = try holder(in: set)
    guard !found.content.isVoid(for: holder) else { return .failure(.invalidOobCode) }
    // An identity owns the address, and the account has another one.
    guard holder?.isReached(at: email) ?? true else { return .failure(.addressTaken) }
    return .success(found.ticket)
  }

  /// An account whose maker never proved its address loses what else opens it, or the address.
  private func disown(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    guard let holder = try holder(in: set), !holder.isDisabled, holder.hasUnproven(email) else { return }
    let sessions = Sessions(rules: reader.rules.sessions)
    if holder.distrusts(email, at: set.now) {
      return try holder.giveUpAddress(sessions, eventID: disowningID, cause: cause, in: &set)
    }
    var account = holder
    try account.disown(in: &set)
    try sessions.endAll(of: &account, in: &set)
    try account.store(in: &set)
    try AccountEvents(account, disowningID, cause).changes(from: holder, in: &set)
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    try SignInAnswers(reader: reader, seal: seal).again(AnswerNote(note), project: project.id, in: set) {
      [email] _, _ in
      ProvenEmail(email: email).identity
    }
  }
}

extension MailLinkCredential {
  fileprivate init(_ text: Secret) throws(APIError) {
    do throws(ContractProblem) {
      self = try MailLinkCredential(text: text)
    } catch {
      throw APIError(.invalidArgument, "credential is not a JSON object of address and code", field: "credential")
    }
  }
}
