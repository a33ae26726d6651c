import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Makes the answers to commands that sign in, with the notes that make them once more.
struct SignInAnswers: Sendable {
  let idTokens: IDTokens
  let seal: ReplySeal

  func tokens(
    _ holder: IDTokenCheck.Holder, isNewUser: Bool, _ identity: SignedInIdentity? = nil, at now: UnixTime
  ) throws(StoreError) -> CommandAnswer {
    var reply = AccountSignedIn()
    reply.localID = holder.account.localID
    reply.phoneNumber = holder.account.phoneNumber
    reply.isNewUser = isNewUser
    reply.tokens = try idTokens.tokens(for: holder.account, holder.session, sealedFor: seal, at: now)
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
