import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// The end of an account: by its user, by a test, or with its last session.
///
/// Its number, addresses and identities are free at once, and its sessions gone: every call is answered as if it had
/// never been. What other processes know about its user is erased afterwards.
struct Deletion: Sendable {
  let sessions: Sessions
  let eraser: Eraser

  /// - Parameter cause: properties of the command, if it was one.
  @discardableResult
  func delete(
    _ account: AccountRecord, cause: Envelope?, in set: inout WorkingSet
  ) throws(StoreError) -> AccountDeleted {
    let grant = account.identity(at: AppleRevocation.provider)?.lostGrant
    let apple = grant == nil ? try ending(atApple: account, in: set) : nil
    try sessions.delete(account, in: &set)
    let event = try set.announceDeletion(of: account, cause: cause)
    try eraser.begin(with: account, apple: apple, revoking: grant, in: &set)
    return event
  }

  /// Apple was told if a token was revoked, and the user has neither linked nor signed in with Apple since.
  private func ending(
    atApple account: AccountRecord, in set: WorkingSet
  ) throws(StoreError) -> AccountErased.Apple? {
    guard let identity = account.identity(at: AppleRevocation.provider) else { return nil }
    guard let revokedAt = account.appleRevokedAt, identity.linkedAt <= revokedAt else { return .notTold }
    let hasSignedInSince = try sessions.all(of: account, in: set).contains {
      $0.firstFactor.name == AppleRevocation.provider && $0.authTime > revokedAt
    }
    return hasSignedInSince ? .notTold : .revoked
  }
}
