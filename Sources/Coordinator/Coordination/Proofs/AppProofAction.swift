/// Action of the owner of a proof after an event; actions are taken in order.
enum AppProofAction: Sendable, Hashable {
  /// Push the secret, once the reply with the receipt is out.
  case push
  /// Announce that the app has proven itself.
  case announceVerified
  /// Announce that the secret will not arrive.
  case announceUnverified(VerificationFailure)
  /// Do not push to this device token for a while.
  case rememberRefusal(VerificationFailure)
  /// Pushes reach this device token again.
  case forgetRefusal
  /// Revoke all receipts of this device token.
  case revokeAllOfToken
  /// Accept the request: it comes from the app.
  case admit
  /// Refuse the request: it does not come from the app, or that is uncertain.
  case refuse(ProofRefusal)
}
