import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Makes the answers to commands that sign in, with the notes that make them once more.
struct SignInAnswers: Sendable {
  let reader: CommandReader
  let seal: ReplySeal

  func answer(
    _ outcome: FirstFactor.Outcome, isNewUser: Bool, _ identity: SignedInIdentity? = nil, at now: UnixTime
  ) throws(StoreError) -> CommandAnswer {
    switch outcome {
    case .session(let holder): try tokens(holder, isNewUser: isNewUser, identity, at: now)
    case .pending(let account, let text): try pending(account, text, identity)
    }
  }

  /// The same answer once more.
  ///
  /// - Parameter identity: what it says of the user, from the account and the provider of the note.
  func again(
    _ note: AnswerNote, project: String, in set: WorkingSet,
    _ identity: (AccountRecord, String?) -> SignedInIdentity? = { _, _ in nil }
  ) throws(StoreError) -> CommandAnswer {
    switch note {
    case .session(let id, let isNewUser, let provider):
      switch try SessionRecord.holder(of: id, project: project, reader.rules.sessions, in: set) {
      case .failure(let error): return CommandAnswer(error)
      case .success(let holder):
        return try tokens(holder, isNewUser: isNewUser, identity(holder.account, provider), at: set.now)
      }
    case .secondFactor(let seed, let provider):
      for text in reader.tickets.texts(seed: seed) {
        guard case .success(let found) = try reader.tickets.pendingSignIn([text.id], project: project, in: set) else {
          continue
        }
        return try pending(found.account, text, identity(found.account, provider))
      }
      return CommandAnswer(.invalidPendingCredential)
    case .proof, .pending, .sharedSecret, .refused: throw StoreError.unreadableBody
    }
  }

  private func pending(
    _ account: AccountRecord, _ text: TicketText, _ identity: SignedInIdentity?
  ) throws(StoreError) -> CommandAnswer {
    var reply = AccountSignedIn()
    reply.localID = account.localID
    reply.pendingCredential = try seal.once(text.secret)
    reply.secondFactors = account.secondFactors.map { $0.view(isMasked: true) }
    reply.identity = try identity.map { identity throws(StoreError) in try seal.once(identity) }
    return try answer(reply, .secondFactor(seed: text.seed, provider: identity?.providerID))
  }

  func tokens(
    _ holder: IDTokenCheck.Holder, isNewUser: Bool, _ identity: SignedInIdentity? = nil, at now: UnixTime
  ) throws(StoreError) -> CommandAnswer {
    var reply = AccountSignedIn()
    reply.localID = holder.account.localID
    reply.phoneNumber = holder.account.phoneNumber
    reply.isNewUser = isNewUser
    reply.tokens = try reader.idTokens.tokens(for: holder.account, holder.session, sealedFor: seal, at: now)
    reply.identity = try identity.map { identity throws(StoreError) in try seal.once(identity) }
    return try answer(
      reply, AnswerNote(holder.session, isNewUser: isNewUser, provider: identity?.providerID))
  }

  func proof(
    _ text: TicketText, of number: String, expiresAt: UnixTime, at now: UnixTime
  ) throws(StoreError) -> CommandAnswer {
    var reply = AccountSignedIn()
    reply.phoneNumber = number
    reply.temporaryProof = try seal.once(text.secret)
    reply.temporaryProofExpiresIn = Int(clamping: (expiresAt - now).components.seconds)
    return try answer(reply, .proof(seed: text.seed))
  }

  /// - Parameter text: token that stands for the credential. `nil` for one that may come again, whose refusal leaves
  ///   nothing behind.
  func refused(
    _ refusal: SignInRefusal, _ identity: SignedInIdentity, _ text: TicketText? = nil
  ) throws(StoreError) -> CommandAnswer {
    var reply = AccountSignedIn()
    reply.refusal = refusal.code
    if refusal.code == nil {
      reply.needsConfirmation = true
      reply.verifiedProviders = refusal.ways
    }
    reply.identity = try seal.once(identity)
    reply.pendingToken = try text.map { text throws(StoreError) in try seal.once(text.secret) }
    return try answer(reply, text.map { .pending(seed: $0.seed, refusal) })
  }

  private func answer(_ reply: AccountSignedIn, _ note: AnswerNote?) throws(StoreError) -> CommandAnswer {
    var answer = try CommandAnswer(reply)
    answer.note = try note?.bytes
    return answer
  }
}
