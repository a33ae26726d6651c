import CommandEngine
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import Projects

/// `account.applyMailLink`: does what the code of a link stands for, once, or tells what that is.
struct ApplyMailLinkOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: Project
  private let ids: [RecordID]
  private let newPassword: Secret?
  private let isLook: Bool
  private let runs = MailLinkRuns()
  private let eventID = MessageID.make()
  private let parts: AccountParts
  /// Outcome of the stage.
  private var hash: Result<PasswordHash, APIError>?

  init(_ command: ApplyMailLink, _ envelope: Envelope, _ parts: AccountParts) throws(APIError) {
    self.parts = parts
    let reader = parts.reader
    project = try reader.project(command.project)
    if let app = command.app, project.app(id: app) == nil { throw .appNotFound }
    let code = try reader.open(command.code, "code", of: envelope, replyKey: nil)
    guard !code.isEmpty else { throw .missingOobCode }
    ids = reader.tickets.ids(of: code)
    isLook = command.isLook ?? false
    newPassword = try command.newPassword.map { field throws(APIError) in
      try reader.open(field, "newPassword", of: envelope, replyKey: nil)
    }
    if let newPassword { try parts.passwords.check(newPassword, project) }
    fingerprints = reader.hashes.fingerprints(
      "mail link", [project.id, code.reveal(), newPassword?.reveal() ?? "", "\(isLook)"])
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    for id in ids { keys.add(record: id) }
  }

  /// Hashes for a code that is good alone.
  var stage: CommandStage? {
    guard let newPassword, !isLook else { return nil }
    return CommandStage(window: .hashing, longest: Passwords.longestStage) { [self] access throws(StoreError) in
      var order = self
      let isGood = try await access.store.read(StoreKeys(), at: access.now()) { [self] set throws(StoreError) in
        guard case .success(let found) = try find(in: set) else { return false }
        return found.content.purpose == .resetPassword
      }
      guard isGood else { return order }
      do throws(APIError) {
        order.hash = .success(try await parts.passwords.hash(newPassword))
      } catch {
        order.hash = .failure(error)
      }
      return order
    }
  }

  // MARK: Carrying out

  private struct Found {
    let ticket: Ticket
    let content: MailLinkTicket
    let account: AccountRecord?
  }

  private func find(in set: WorkingSet) throws(StoreError) -> Result<Found, APIError> {
    let found: OpenTicket<MailLinkTicket>? = try parts.reader.tickets.find(
      ids, .mailLink, project: project.id, evenExpired: true, in: set)
    guard let found else { return .failure(.invalidOobCode) }
    guard set.now < found.ticket.expiresAt else { return .failure(.expiredOobCode) }
    let account = try account(of: found.content, in: set)
    let isReset = found.content.purpose == .resetPassword
    guard !found.content.isVoid(for: account),
      !isReset || !(account?.resetsNothing(at: found.content.email, at: set.now) ?? false)
    else { return .failure(.invalidOobCode) }
    return .success(Found(ticket: found.ticket, content: found.content, account: account))
  }

  private func account(of content: MailLinkTicket, in set: WorkingSet) throws(StoreError) -> AccountRecord? {
    guard content.purpose != .signIn else {
      return try AccountRecord.find(
        holderOf: AccountRecord.key(ofEmail: content.email, project: project.id), in: set)
    }
    guard let id = content.account.flatMap({ RecordID(AccountRecord.kind, $0) }) else { return nil }
    return try AccountRecord.find(id, project: project.id, in: set)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let found: Found
    switch try find(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let good): found = good
    }
    guard !isLook else { return try CommandAnswer(reply(found)) }
    guard (newPassword != nil) == (found.content.purpose == .resetPassword), let account = found.account,
      found.content.purpose != .signIn
    else { return CommandAnswer(.invalidOobCode) }
    guard !account.isDisabled else { return CommandAnswer(.userDisabled) }
    return try apply(found, to: account, envelope, in: &set)
  }

  private func reply(_ found: Found) -> MailLinkApplied {
    var reply = MailLinkApplied(purpose: found.content.purpose, email: found.content.email)
    reply.newEmail = found.content.newEmail
    if let factor = found.content.secondFactor(of: found.account) {
      reply.secondFactor = factor.view(isMasked: true)
      // The page stands on a host that the owner trusts, and a thief may have named the factor.
      reply.secondFactor?.displayName = factor.plainName
    }
    return reply
  }

  private func apply(
    _ found: Found, to before: AccountRecord, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    var account = before
    let refusal: APIError? =
      switch found.content.purpose {
      case .resetPassword: try reset(&account, found.content, in: &set)
      case .verifyAddress: verify(&account, found.content)
      case .changeAddress: try change(&account, found.content, envelope, in: &set)
      case .recoverAddress: try recover(&account, found, in: &set)
      case .revertSecondFactor: try revert(&account, found.content, in: &set)
      case .signIn: .invalidOobCode
      }
    // The code stays good.
    if let refusal { return CommandAnswer(refusal) }
    try account.store(in: &set)
    try AccountEvents(account, eventID, envelope).changes(from: before, in: &set)
    try set.remove(found.ticket.id)
    var reply = reply(found)
    reply.localID = account.localID
    return try CommandAnswer(reply)
  }

  private var consent: LinkingConsent { parts.reader.linkingConsent(of: project.id) }

  private func verify(_ account: inout AccountRecord, _ content: MailLinkTicket) -> APIError? {
    account.prove(content.email)
    return nil
  }

  /// The reader of the mail owns the address. A user who made the account without proving it does not stay in.
  private func reset(
    _ account: inout AccountRecord, _ content: MailLinkTicket, in set: inout WorkingSet
  ) throws(StoreError) -> APIError? {
    guard project.methods.contains(.password) else { return .methodOff(.password) }
    // The code was not good when the stage looked.
    guard let hash else { return .hashingBusy }
    let made: PasswordHash
    switch hash {
    case .failure(let error): return error
    case .success(let hash): made = hash
    }
    let before = account
    if account.hasUnproven(content.email) { account.disownOthers() }
    account.prove(content.email)
    account.isAnonymous = false
    account.passwordChangedAt = set.now
    guard consent.allows(account, from: before) else { return .consentRequired }
    try account.storePassword(made, in: &set)
    try parts.sessions.endAll(of: &account, in: &set)
    return nil
  }

  /// The session that asked for the change goes on, and others end: a thief may have one.
  private func change(
    _ account: inout AccountRecord, _ content: MailLinkTicket, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> APIError? {
    guard let new = content.newEmail else { return .invalidOobCode }
    guard try isFree(new, for: account, in: set) else { return .addressTaken }
    let before = account
    account.takeAddress(new)
    account.isEmailVerified = true
    // Asking for it took a recent sign-in.
    account.emailTrustedFrom = nil
    guard consent.allows(account, from: before) else { return .consentRequired }
    if let session = try content.session.flatMap({ id throws(StoreError) in try SessionRecord.find(id, in: set) }) {
      try parts.sessions.endOthers(than: session, in: &set)
    } else {
      try parts.sessions.endAll(of: &account, in: &set)
    }
    try parts.mailLinks.announceChange(of: before, to: account, project, runs, cause: envelope, in: &set)
    return nil
  }

  /// The former address is back, and all sessions end. Whatever else opens the account since the change goes: a thief
  /// may have put it there.
  private func recover(
    _ account: inout AccountRecord, _ found: Found, in set: inout WorkingSet
  ) throws(StoreError) -> APIError? {
    let content = found.content
    guard try isFree(content.email, for: account, in: set) else { return .addressTaken }
    if account.hasPassword, account.passwordChangedAt != content.passwordChangedAt {
      try account.removePassword(in: &set)
    }
    if account.phoneNumber != content.phoneNumber { account.phoneNumber = nil }
    let changedAt = found.ticket.expiresAt - content.purpose.lifetime
    account.unlink(Set(account.identities.filter { $0.linkedAt >= changedAt }.map(\.provider)))
    account.secondFactors.removeAll { $0.enrolledAt >= changedAt }
    account.takeAddress(content.email)
    account.isEmailVerified = true
    account.emailTrustedFrom = nil
    try parts.sessions.endAll(of: &account, in: &set)
    return nil
  }

  /// The second factor is gone, and all sessions end: a thief may have enrolled it.
  private func revert(
    _ account: inout AccountRecord, _ content: MailLinkTicket, in set: inout WorkingSet
  ) throws(StoreError) -> APIError? {
    account.secondFactors.removeAll { $0.enrollmentID == content.enrollmentID }
    try parts.sessions.endAll(of: &account, in: &set)
    return nil
  }

  private func isFree(_ address: String, for account: AccountRecord, in set: WorkingSet) throws(StoreError) -> Bool {
    let key = try AccountRecord.key(ofEmail: address, project: project.id)
    return try AccountRecord.find(holderOf: key, in: set).map { $0.id == account.id } ?? true
  }
}
