/// What the owner of a proof has to do after an event, in this order.
enum AppProofAction: Sendable, Hashable {
  /// Push the secret, once the receipt has been told.
  case push
  /// Tell everybody that the app has proven itself.
  case announceVerified
  /// Tell everybody that the secret will not come.
  case announceUnverified(VerificationFailure)
  /// Do not push to this device token for a while.
  case rememberRefusal(VerificationFailure)
  /// Pushes to this device token get through.
  case forgetRefusal
  /// Take back all that was issued to this device token.
  case revokeAllOfToken
  /// The request comes from the app.
  case admit
  /// It does not, or nobody can tell.
  case refuse(ProofRefusal)
}
