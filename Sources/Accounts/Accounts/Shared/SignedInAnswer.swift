import CommandEngine
import CountersignMessages
import CountersignTelemetry

extension AccountSignedIn {
  static func answer(
    _ holder: IDTokenCheck.Holder, isNewUser: Bool, sealedFor seal: ReplySeal, _ idTokens: IDTokens, at now: UnixTime
  ) throws(StoreError) -> CommandAnswer {
    var reply = AccountSignedIn()
    reply.localID = holder.account.localID
    reply.phoneNumber = holder.account.phoneNumber
    reply.isNewUser = isNewUser
    reply.tokens = try idTokens.tokens(for: holder.account, holder.session, sealedFor: seal, at: now)
    var answer = try CommandAnswer(reply)
    answer.note = SignedInNote(holder.session, isNewUser: isNewUser).bytes
    return answer
  }

  static func answer(
    _ text: TemporaryProof.Text, _ proof: TemporaryProof, sealedFor seal: ReplySeal, at now: UnixTime
  ) throws(StoreError) -> CommandAnswer {
    var reply = AccountSignedIn()
    reply.phoneNumber = proof.phoneNumber
    reply.temporaryProof = try seal.proof.value(of: text.id) { () throws(StoreError) in try seal.seal(text.secret) }
    reply.temporaryProofExpiresIn = Int(clamping: (proof.expiresAt - now).components.seconds)
    var answer = try CommandAnswer(reply)
    answer.note = ProofNote(text).bytes
    return answer
  }
}
